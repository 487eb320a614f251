"""What the scripts of attacks share. It is copied beside them, so it needs the standard library only."""

import ctypes
import errno
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
scene: dict[str, Any] = json.loads((Path(__file__).parent / "scene.json").read_text())
IS_ARM = platform.machine() == "aarch64"
NUMBERS = {  # name: (x86_64, aarch64)
    "name_to_handle_at": (303, 264), "openat2": (437, 437), "process_vm_readv": (310, 270), "pidfd_open": (434, 434),
    "setuid": (105, 146), "capset": (126, 91), "prctl": (157, 167), "getpid": (39, 172), "personality": (135, 92),
}  # fmt: skip


def number(name: str) -> int:
    return (NUMBERS | scene["numbers"])[name][IS_ARM]  # type: ignore[no-any-return]


def code() -> str:
    return errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))


def call(name: str, *arguments: Any) -> int:
    """Make a raw system call and say whether it worked; a child that it made ends at once."""
    plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(libc.syscall(ctypes.c_long(number(name)), *plain))
    if result == 0 and name in ("clone", "clone3"):
        os._exit(0)
    print(name, "worked" if result >= 0 else code(), flush=True)
    return result


def tried(what: str, action: Callable[[], Any]) -> Any:
    """Do it and say whether it worked."""
    try:
        found = action()
    except OSError as error:
        print(what, errno.errorcode.get(error.errno or 0, error), flush=True)
        return None
    print(what, "worked", flush=True)
    return found
