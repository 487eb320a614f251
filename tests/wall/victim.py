"""Plays the server, as the same user: secrets in environment, command line, memory, descriptors and shared memory."""

import ctypes
import json
import os
import signal
import sys
import tempfile
import time

KEY = int(sys.argv[2])
treasure = os.environ["SAKURA_SECRET_KEY"].encode()
memory = ctypes.create_string_buffer(treasure)
kept = tempfile.TemporaryFile()  # noqa: SIM115  held open to the end
kept.write(treasure)
kept.flush()
os.set_inheritable(kept.fileno(), True)

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
shared = libc.shmget(KEY, ctypes.c_size_t(4096), 0o1600)
ctypes.memmove(ctypes.c_void_p(libc.shmat(shared, None, 0)), treasure, len(treasure))
queue = libc.mq_open(f"/sakura-{KEY}".encode(), 0o102, 0o600, None)
libc.mq_send(queue, treasure, ctypes.c_size_t(len(treasure)), 0)


def end(number: int, frame: object) -> None:
    """Take the shared things away; what is killed leaves them to the test."""
    libc.shmctl(shared, 0, None)
    libc.mq_unlink(f"/sakura-{KEY}".encode())
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
told = {"pid": os.getpid(), "address": ctypes.addressof(memory), "descriptor": kept.fileno(), "size": len(treasure)}
print(json.dumps(told | {"shared": shared, "queue": queue}), flush=True)
time.sleep(600)
