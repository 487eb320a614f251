"""The process that parses: gives up its rights before it looks at the first byte, and answers in JSON.

It is started by itself, without the rest of the package, so that it is there in no time and knows nothing.
"""

import ctypes
import importlib
import json
import os
import resource
import struct
import sys
from types import TracebackType

SET_DUMPABLE, SET_SECCOMP, SET_NO_NEW_PRIVS = 4, 22, 38  # linux/prctl.h
FILTER = 2


class NoWall(Exception):
    """A right that can't be given up here."""


def main(module: str, caps: str, uid: str, calls: str, args: str) -> None:
    """Parse standard input with the module of this name and print what comes of it.

    `caps`: bytes of memory, seconds of processor time, bytes of answer; `uid`: whom to become, "" for nobody else;
    `calls`: the filter of system calls, as hexadecimal digits.
    """
    sys.excepthook = _tell
    parser = importlib.import_module(module)
    parser.load()
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if uid:
        _become(int(uid))
    _limit(*map(int, caps.split(",")))
    _filter(bytes.fromhex(calls))
    print(json.dumps(parser.parse(sys.stdin.buffer, json.loads(args))))


def _become(uid: int) -> None:
    """Become a user who owns nothing; with the number go all capabilities."""
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        raise NoWall(f"the server runs as root and can't become user {uid} ({error.strerror})") from None


def _limit(memory_bytes: int, cpu_seconds: int, answer_bytes: int) -> None:
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, answer_bytes),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _filter(code: bytes) -> None:
    """Have the kernel refuse all but a few system calls from here on; nobody can look into the process or undo it."""
    kept = ctypes.create_string_buffer(code, len(code))
    about = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(kept)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for option, value, pointer in ((SET_DUMPABLE, 0, None), (SET_NO_NEW_PRIVS, 1, None), (SET_SECCOMP, FILTER, about)):
        if prctl(option, ctypes.c_ulong(value), pointer, None, None) != 0:
            raise NoWall(f"the kernel refuses to filter system calls ({os.strerror(ctypes.get_errno())})")


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in the answer what no parser expected; the process ends with 1 all the same."""
    if kind is NoWall:
        words = f"it would not be parsed safely on this server: {error}"
    else:
        words = "it takes too much memory" if kind is MemoryError else f"it is broken ({kind.__name__})"
    print(json.dumps({"fault": words}))
