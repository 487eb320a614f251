"""Parses bytes that may be hostile in a process of its own, which is given nothing but them and little of everything.

The module that parses is named, and imported there only. It has a function `load()`, which imports what it will need,
and after which the process can open nothing any more; and `parse(file, args)`, which gets the file open as standard
input, no path, and returns what JSON can hold.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from workspaces.apart import calls
from workspaces.sandbox.identity import is_root
from workspaces.sandbox.seccomp import UnknownMachine

MEMORY_BYTES = 1536 << 20
ANSWER_BYTES = 24 << 20
CPU_SECONDS = 20
SECONDS = 40
TICK_S = 0.25
"""How often it is asked whether to stop."""
NOBODY = 65534
"""The user that it becomes where the server is root: the kernel's own overflow uid, which owns nothing."""
FOLDERS = (Path(__file__).resolve().parent,)
"""Where it finds its own modules."""
_BOOT = "import sys; sys.path[:0] = sys.argv[1].split(':'); import child; child.main(*sys.argv[2:])"


class Failed(Exception):
    """The bytes could not be parsed; the text says why, as what follows "it can't be read: "."""


class GivenUp(Exception):
    """The parsing was stopped from outside."""


@dataclass(frozen=True)
class Caps:
    """What the process may use; the wall clock is the parent's to watch."""

    memory_bytes: int = MEMORY_BYTES
    cpu_seconds: int = CPU_SECONDS
    seconds: int = SECONDS


def parse(
    module: str,
    file: BinaryIO,
    args: dict[str, Any],
    stop: Callable[[], bool] = lambda: False,
    caps: Caps | None = None,
) -> dict[str, Any]:
    """Return what `workspaces.apart.<module>.parse` makes of the file.

    Raises Failed, and GivenUp once `stop` says so.
    """
    caps = caps or Caps()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    command = [sys.executable, "-I", "-B", "-c", _BOOT, *_told(caps, module), json.dumps(args)]
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(
            command, stdin=file.fileno(), stdout=answer, stderr=subprocess.DEVNULL, cwd="/", env={"LANG": "C.UTF-8"}
        )
        _wait(process, caps.seconds, stop)
        answer.seek(0)
        return _answer(answer.read(ANSWER_BYTES), process.returncode)


def _told(caps: Caps, module: str) -> list[str]:
    """Return what the process is told of itself; there is none where its system calls can't be filtered."""
    try:
        program = calls.program()
    except UnknownMachine as error:
        raise Failed(f"it would not be parsed safely on this server: {error}") from None
    limits = f"{caps.memory_bytes},{caps.cpu_seconds},{ANSWER_BYTES}"
    uid = str(NOBODY) if is_root() else ""
    return [":".join(map(str, FOLDERS)), module, limits, uid, program.hex()]


def _wait(process: "subprocess.Popen[bytes]", seconds: int, stop: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    try:
        while True:
            left = deadline - time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, min(TICK_S, left)))
                return
            if stop():
                raise GivenUp
            if left <= 0:
                raise Failed(f"it takes more than {seconds} seconds")
    finally:
        process.kill()
        process.wait()


def _answer(data: bytes, status: int) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Failed("it takes too much time or memory" if status < 0 else "it is broken")
    if isinstance(fault := answer.get("fault"), str):
        raise Failed(fault)
    return answer
