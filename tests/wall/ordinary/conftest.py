"""An agent at its desk: ordinary commands go through the real tool and sandbox, with the limits of production."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.agents.tools.bench import Bench
from tests.agents.tools.conftest import prepared
from tests.conftest import mirrored
from workspaces.models import Repository
from workspaces.sandbox import own, probe
from workspaces.sandbox.environment import SYSTEM_PATH

TIMEOUT_MS = 300_000
"""What a busy machine may take; no test says how fast anything is."""
NOT_COPIED = ("mypy", "mypyc", "playwright", "ruff", "pip", "django-stubs")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass
class Desk:
    """Where an agent works. `runs` expects the script to end well, and returns what it printed."""

    bench: Bench

    @property
    def tree(self) -> Path:
        return self.bench.tree

    def runs(self, script: str) -> str:
        result = self.bench.call("run_command", command=f"set -eu -o pipefail\n{script}", timeout_ms=TIMEOUT_MS)
        assert (result.data.get("ending"), result.data.get("exit_code")) == ("exit", 0), result.content
        return result.content.removesuffix("\nExit code 0")

    def fails(self, script: str) -> str:
        """Run a script that ends by itself, but not with 0; return what it printed."""
        result = self.bench.call("run_command", command=script, timeout_ms=TIMEOUT_MS)
        assert result.data["ending"] == "exit", result.content
        assert result.data["exit_code"], result.content
        return result.content

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file that is the agent's own."""
        uid = self.bench.context().place.uid
        file = self.bench.write(path, content)
        for each in [file, *file.relative_to(self.bench.tree).parents[:-1]]:
            own(self.bench.tree / each, uid)


@pytest.fixture
def repository(db: None, source: Path) -> Repository:
    """The small project of all tests, and not the attackers' shelf."""
    return mirrored(source)


@pytest.fixture
def desk(repository: Repository) -> Desk:
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    return Desk(Bench(prepared(repository)))


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip where a program is not installed at all; a sandbox that hides one that is there must fail the test."""
    missing = [name for name in programs if shutil.which(name, path=":".join(SYSTEM_PATH)) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed on this machine: {', '.join(missing)}")


# --- the Python and the packages that this very test run uses ------------------------------------


@dataclass(frozen=True)
class Toolchain:
    """A Python with packages, where every uid may enter; `python` runs it in a command."""

    home: Path
    packages: Path

    @property
    def python(self) -> str:
        paths = f"PYTHONPATH={self.packages} PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH={self.home / 'lib'}"
        return f"env {paths} {self.home / 'bin' / PYTHON}"


def copied(source: str, target: str) -> str:
    """Put a file there by a hard link, where the file system and its owner allow one."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)
    return target


def copy(source: Path, target: Path, *left_out: str) -> None:
    shutil.copytree(source, target, symlinks=True, copy_function=copied, ignore=shutil.ignore_patterns(*left_out))


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolchain]:
    """Yield the Python of this test run and its packages: a copy, since where they are may be closed to other users."""
    base = Path(sys.base_prefix)
    folder = tmp_path_factory.mktemp("toolchain")
    if base.is_relative_to("/usr"):
        home = base
    else:
        home = folder / "python"
        copy(base / "bin", home / "bin")
        copy(base / "lib", home / "lib", "site-packages", "test", "idlelib", "*.a")
    copy(Path(sysconfig.get_path("purelib")), folder / "packages", *NOT_COPIED)
    yield Toolchain(home, folder / "packages")
    shutil.rmtree(folder)


@pytest.fixture
def toolchain(everything: Toolchain, settings: Settings) -> Toolchain:
    """A Python with packages, given to the sandbox as an operator would: by SAKURA_TOOLCHAINS."""
    for parent in list(everything.packages.parents)[:4]:
        if parent.stat().st_uid == os.geteuid() and str(parent).count("/") > 1:
            parent.chmod(0o755)
    outside = [path for path in (everything.home, everything.packages) if not path.is_relative_to("/usr")]
    settings.SAKURA_TOOLCHAINS = tuple(outside)
    return everything
