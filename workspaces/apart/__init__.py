"""Parses bytes that may be hostile in a process of its own, which is given nothing but them and little of everything.

The module that parses is named, and imported there only. It has a function `load()`, which imports what it will need,
and after which the process can open nothing any more; and `parse(file, args)`, which gets the file open as standard
input, no path, and returns what JSON can hold.
"""

import json
import os
import select
import site
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
"""Where it finds its own modules; packages it finds where the server does, without what `site` would run."""
_BOOT = (
    "import sys; own, packages = (each.split(':') for each in sys.argv[1:3]); sys.path = [*own, *sys.path, *packages]; "
    "import child; child.main(*sys.argv[3:])"
)


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
    command = [sys.executable, "-I", "-S", "-c", _BOOT, *_told(caps, module), json.dumps(args)]
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
    places = [":".join(map(str, folders)) for folders in (FOLDERS, site.getsitepackages())]
    return [*places, module, limits, uid, program.hex()]


def _wait(process: "subprocess.Popen[bytes]", seconds: int, stop: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    try:
        with open(os.pidfd_open(process.pid), "rb", buffering=0) as end:
            ended = select.poll()
            ended.register(end, select.POLLIN)
            while not ended.poll(1000 * max(0.0, min(TICK_S, deadline - time.monotonic()))):
                if stop():
                    raise GivenUp
                if time.monotonic() >= deadline:
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
