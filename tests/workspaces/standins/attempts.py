"""A parser that was taken over: it tries what it should not be able to do, and tells what became of it."""

import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

_LIBC: list[ctypes.CDLL] = []


def load() -> None:
    _LIBC.append(ctypes.CDLL(None, use_errno=True))


def parse(file: BinaryIO, args: dict[str, Any]) -> dict[str, Any]:
    """Return what became of the attempts that are named, and who tried. `args`: try, scratch, port."""
    tried = {name: _outcome(ATTEMPTS[name], args) for name in args["try"]}
    return {"tried": tried, "uid": os.getuid() if args.get("who") else None, "read": file.read(20).decode()}


def _outcome(attempt: Callable[[dict[str, Any]], object], args: dict[str, Any]) -> str:
    try:
        attempt(args)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, repr(error))
    except (RuntimeError, ValueError) as error:  # of a thread that can't be started, of a limit
        return str(error)
    return "done"


def _call(name: str, *args: Any) -> None:
    if getattr(_LIBC[0], name)(*args) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _fork(_: dict[str, Any]) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _thread(_: dict[str, Any]) -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def _connect(args: dict[str, Any]) -> None:
    with socket.socket() as plug:
        plug.connect(("127.0.0.1", args["port"]))


def _write(args: dict[str, Any]) -> None:
    os.close(os.open(os.path.join(args["scratch"], "written"), os.O_WRONLY | os.O_CREAT))


ATTEMPTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "read a file": lambda _: open("/etc/passwd").close(),
    "read its environment": lambda _: open("/proc/self/environ").close(),
    "list a folder": lambda _: os.listdir("/"),
    "look for a file": lambda _: os.stat("/etc/passwd"),
    "write a file": _write,
    "remove a file": lambda args: os.unlink(os.path.join(args["scratch"], "kept")),
    "connect": _connect,
    "make a UNIX socket": lambda _: socket.socket(socket.AF_UNIX).close(),
    "make a pipe": lambda _: os.close(os.pipe()[0]),
    "fork": _fork,
    "start a program": lambda _: os.posix_spawn("/bin/true", ["true"], {}),
    "start a thread": _thread,
    "send a signal": lambda _: os.kill(os.getpid(), signal.SIGCONT),
    "be traced": lambda _: _call("ptrace", 0, 0, None, None),
    "make memory executable": lambda _: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "raise a limit": lambda _: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    "make a namespace": lambda _: _call("unshare", 0x10000000),
    "change its folder": lambda _: os.chdir("/tmp"),
}
