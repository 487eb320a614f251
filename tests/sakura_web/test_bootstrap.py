"""The first start: what the machine lacks is said in one line with the cure, never in a traceback."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BOOTSTRAP = ROOT / "sakura_web" / "bootstrap.py"


def run_bootstrap(path: str, before: str = "", clone: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the bootstrap in a child with that PATH; `before` is Python that sets the scene there."""
    start = f"sys.argv = ['bootstrap.py']\nrunpy.run_path({str(clone or BOOTSTRAP)!r}, run_name='__main__')"
    script = f"import sys, runpy\n{before}\n{start}"
    return subprocess.run(
        [sys.executable, "-c", script], env={"PATH": path}, capture_output=True, text=True, timeout=60, check=False
    )


def copy_of(tmp_path: Path) -> Path:
    """Lay the bootstrap into an empty clone, so that the real one is left alone."""
    place = tmp_path / "clone" / "sakura_web" / "bootstrap.py"
    place.parent.mkdir(parents=True)
    place.write_text(BOOTSTRAP.read_text())
    return place


def test_a_missing_git_is_said_with_the_cure(tmp_path: Path) -> None:
    done = run_bootstrap(str(tmp_path))
    assert done.returncode == 1
    assert (
        done.stderr.strip() == "Sakura can't start: git is missing. Install it, for example: sudo apt-get install git"
    )


def test_an_old_python_is_said_with_the_version_it_needs(tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to("/usr/bin/git")
    done = run_bootstrap(str(tmp_path), before="sys.version_info = (3, 9, 2)")
    assert done.returncode == 1
    assert "it needs Python 3.11 or newer; this is 3.9" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_without_ensurepip_is_said_with_the_package_to_install(tmp_path: Path) -> None:
    done = run_bootstrap(os.environ["PATH"], before="sys.modules['ensurepip'] = None", clone=copy_of(tmp_path))
    assert done.returncode == 1
    assert "sudo apt-get install python3-venv" in done.stderr
    assert not (tmp_path / "clone" / ".venv").exists()


def test_another_system_is_told_that_only_linux_will_do(tmp_path: Path) -> None:
    done = run_bootstrap(str(tmp_path), before="sys.platform = 'darwin'")
    assert "Linux only" in done.stderr


def test_a_failed_install_shows_why_and_what_to_do(tmp_path: Path) -> None:
    place = copy_of(tmp_path)
    (tmp_path / "clone" / "requirements.txt").write_text("no-such-package-of-ours==0\n--no-index\n")
    done = run_bootstrap(os.environ["PATH"], clone=place)
    assert done.returncode == 1
    assert "could not be installed" in done.stderr
    assert "Traceback" not in done.stderr
