"""What the numbers were measured on."""

import os
import platform
import sqlite3
import subprocess
from pathlib import Path

import django

from workspaces import ripgrep, sandbox


def facts(folder: Path) -> dict[str, str]:
    """Return the machine and the versions, by name; `folder` is where the trees lie."""
    report = sandbox.probe()
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1024**3:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": _file_system(folder),
        "load at the start": f"{os.getloadavg()[0]:.2f}",
        "Python": platform.python_version(),
        "Django": django.get_version(),
        "SQLite": sqlite3.sqlite_version,
        "git": _first_line("git", "--version").removeprefix("git version "),
        "ripgrep": _first_line(ripgrep.binary(), "--version").removeprefix("ripgrep "),
        "bubblewrap": _first_line(report.bwrap, "--version").removeprefix("bubblewrap ") if report.bwrap else "none",
        "commands run as": "a user of their own" if report.uid is not None else "the user of the server",
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _file_system(folder: Path) -> str:
    found = ("/", "unknown")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if folder.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]


def _first_line(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip()
