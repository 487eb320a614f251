"""Kills a child process at a system call of its own choosing, by strace; what a power cut or `kill -9` would do."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator

CALLS = (
    *("openat", "write", "fsync", "close", "symlink", "unlink", "unlinkat", "linkat", "rename", "renameat"),
    *("mkdir", "mkdirat", "fchmod", "fchown", "fchownat", "ftruncate"),
)
"""The calls that a write is made of; before any of them, and after the last, the process may die."""
PR_SET_PTRACER = 0x59616D61
ANYONE = ctypes.c_ulong(-1)
MOST = 400
"""Kills at one call; far more than any write needs."""


def why_not() -> str:
    """Return why no process can be killed so on this machine, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    try:
        _run_and_kill(lambda: None, "close", 1)
    except PtraceForbidden as error:
        return f"strace may not attach here: {error}"
    return ""


class PtraceForbidden(Exception):
    """The machine lets no process trace another."""


def kill_points(prepare: Callable[[], None], act: Callable[[], None]) -> Iterator[str]:
    """Run `act` in a child again and again, killed at the next point each time; yield the point after each kill.

    `prepare` is called before each run.
    """
    for call in CALLS:
        for number in range(1, MOST):
            prepare()
            if not _run_and_kill(act, call, number):
                break
            yield f"{call} {number}"
        else:
            raise AssertionError(f"{call}: no end after {MOST} kills")


def _run_and_kill(act: Callable[[], None], call: str, number: int) -> bool:
    """Run `act` in a child that dies as it enters its n-th such call. Return whether it died."""
    gate, opener = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(opener)
        _be_a_child(gate, act)
    os.close(gate)
    inject = ["-e", f"trace=?{call}", "-e", f"inject=?{call}:signal=KILL:when={number}"]
    tracer = subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", *inject, "-p", str(child)], stderr=subprocess.PIPE, text=True
    )
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    attached = re.search(r"attached", said) is not None
    os.write(opener, b"go" if attached else b"no")
    os.close(opener)
    _, status = os.waitpid(child, 0)
    tracer.communicate(timeout=30)
    if not attached:
        raise PtraceForbidden(said.strip())
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return False


def _be_a_child(gate: int, act: Callable[[], None]) -> None:
    """Wait until the tracer is there, act, and end without a word."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYONE, 0, 0, 0)
        if os.read(gate, 2) == b"go":
            act()
        status = 0
    finally:
        os._exit(status)
