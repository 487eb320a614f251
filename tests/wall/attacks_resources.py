"""Attacks that use the machine up, and those that try to outlive the end of their command."""

import fcntl
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from agents.tools.base import Result
from tests.wall.attack import BARE, Attack, Control, Group, none, worked
from tests.wall.scene import Scene, end_daemon

WATCH_S = 10.0
HOLD = "import time\ntime.sleep(1.5)\nprint('it worked', flush=True)\n"
"""What took too much has it for a while, so that the watchdog, which looks ten times a second, must see it."""


def _lasted(scene: Scene, result: Result) -> bool:
    """It went on for far longer than it had."""
    return int(result.data["duration_ms"]) > int(result.data["timeout_ms"]) + 8_000


def _printed_more(scene: Scene, result: Result) -> bool:
    return int(result.data["total_bytes"]) > 4 * 1024**2


def _little_output(scene: Scene, held: ExitStack) -> None:
    scene.bench.limits = scene.bench.limits.__class__(command_output_bytes=3 * 1024**2)


_use = partial(Attack, group=Group.RESOURCES, breach=worked, control=BARE)
_hog = partial(_use, bounds={"SANDBOX_MEMORY_MB": 200}, stopped_by="watchdog on the sum of memory")
RESOURCES = (
    _use(
        "Processes multiply without an end",
        language="bash",
        script="bomb() { bomb | bomb & }; bomb; while :; do :; done",
        bounds={"SANDBOX_PROCESSES": 64},
        timeout_ms=2_000,
        breach=_lasted,
        control=none("it never runs outside"),
        stopped_by="rlimit inside, pid namespace, wall clock",
    ),
    _use(
        "More processes are started than allowed",
        script="""
children = []
def start():
    for _ in range(100):
        child = os.fork()
        if child == 0:
            import signal
            signal.pause()
        children.append(child)
tried("start", start)
for child in children:
    os.kill(child, 9)
""",
        bounds={"SANDBOX_PROCESSES": 64},
        stopped_by="rlimit inside",
    ),
    _hog("One process takes all memory", script="taken = b'x' * (400 << 20)\n" + HOLD, stopped_by="rlimit, watchdog"),
    _hog(
        "Many processes together take all memory",
        script="""
import time
if [0 for _ in range(4) if os.fork() == 0]:
    taken = b"x" * (100 << 20)
    time.sleep(60)
time.sleep(3)
print("it worked", flush=True)
os.killpg(0, 9)
""",
    ),
    _hog(
        "Memory is taken that is shared and has no name",
        script="import mmap\ntaken = mmap.mmap(-1, 400 << 20)\n"
        "for at in range(0, 400 << 20, 4096):\n    taken[at] = 1\n" + HOLD,
    ),
    _hog(
        "Memory is taken as files without a name (memfd)",
        script="handle = os.memfd_create('taken')\nfor _ in range(400):\n    os.write(handle, bytes(1 << 20))\n" + HOLD,
        stopped_by="filter",
    ),
    _hog(
        "Memory is taken as System V segments that nobody maps",
        script="""
libc.shmat.restype = ctypes.c_void_p
found = [libc.shmget(0, ctypes.c_size_t(40 << 20), 0o1600) for _ in range(10)]
for each in filter(lambda each: each >= 0, found):
    at = ctypes.c_void_p(libc.shmat(each, None, 0))
    ctypes.memset(at, 1, 40 << 20)
    libc.shmdt(at)
print("segments", "worked" if min(found) >= 0 else code())
for each in found:
    libc.shmctl(each, 0, None)
""",
        stopped_by="filter",
    ),
    _use(
        "Memory is taken as data that waits in sockets and pipes, where no process is seen to hold it",
        script="""
import socket
kept = []
for _ in range(60):
    kept += socket.socketpair()
    kept[-1].setblocking(False)
    kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    try:
        while True:
            kept[-1].send(bytes(1 << 16))
    except BlockingIOError:
        continue
"""
        + HOLD,
        bounds={"MEMORY_FLOOR_MB": 1 << 23},
        stopped_by="floor of free memory",
    ),
    *(
        _use(
            f"{path} is filled",
            language="bash",
            script=f"head -c 40M /dev/zero > {path}/$word && echo it worked; rm -f {path}/$word",
            bounds={"SANDBOX_TMP_MB": 16, "SANDBOX_SHM_MB": 16},
            stopped_by="size of the mount",
        )
        for path in ("/tmp", "/dev/shm")
    ),
    _use(
        "A file grows without an end",
        language="bash",
        script="head -c 40M /dev/zero > big && echo it worked; rm -f big",
        bounds={"SANDBOX_FILE_MB": 8},
        stopped_by="rlimit",
    ),
    _use(
        "The disk is filled by many files",
        script="""
import time
for number in range(40):
    with open(f"filler{number}", "wb") as file:
        file.write(bytes(1 << 20))
    time.sleep(0.05)
print("it worked", flush=True)
""",
        bounds={"DISK_FLOOR_MB": 1 << 23},
        stopped_by="floor of free disk",
    ),
    _use(
        "Output is printed without an end",
        language="bash",
        script="head -c 6M /dev/zero; sleep 0.3",
        stage=_little_output,
        breach=_printed_more,
        control=Control(
            "the same within the bound comes through whole",
            lambda scene, attack: (
                scene.bench.call("run_command", command="head -c 2M /dev/zero").data["total_bytes"] == 2 * 1024**2
            ),
        ),
        stopped_by="bound on output",
    ),
    _use(
        "The processor is burnt, and the signal that warns ignored",
        script="""
import signal, time
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while time.process_time() < 3.4:
    pass
print("it worked")
""",
        bounds={"SANDBOX_CPU_S": 1},
        stopped_by="rlimit per process, wall clock",
    ),
    _use(
        "More files are opened than allowed",
        script="""
import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
tried("open", lambda: [os.open("/dev/null", os.O_RDONLY) for _ in range(500)])
""",
        bounds={"SANDBOX_OPEN_FILES": 128},
        stopped_by="rlimit",
    ),
)

# --- outliving the end -------------------------------------------------------------------------------------

DAEMON = """
import fcntl, signal, subprocess, sys, time
FOLDER = os.path.dirname(os.path.abspath(__file__))
os.chdir(FOLDER)
if len(sys.argv) == 1:
    subprocess.Popen([sys.executable, "-c", "import os, sys; me = sys.executable; os.fork() and os._exit(0); "
                      "os.setsid(); os.fork() and os._exit(0); os.execve(me, [me, 'attack/go.py', 'stay'], {})"],
                     cwd=os.path.dirname(FOLDER), stdin=subprocess.DEVNULL, **KEPT)
    while not os.path.exists("ready"):
        time.sleep(0.01)
    print("up", flush=True)
    END()
    sys.exit()
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
libc.prctl(1, 0, 0, 0, 0)
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
STAY()
with open("making", "w") as file:
    file.write(str(os.getpid()))
os.rename("making", "ready")
while True:
    time.sleep(60)
"""
CLOSED = "import subprocess\nKEPT = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
HELD = "KEPT = {}\n"
LEAVE = "def END(): pass\n"
WAIT = "def END(): time.sleep(60)\n"
QUIET = "def STAY(): pass\n"
UNLEASH = """
def STAY():
    \"\"\"Take from the sandbox's first process the bond to its parent's end: by a call that it is made to make.\"\"\"
    ptrace = libc.ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
    if ptrace(0x4206, 1, 0, None) != 0:
        return
    registers = (ctypes.c_ulonglong * 27)()
    ptrace(0x4207, 1, 0, None)
    for _ in range(50):
        os.waitpid(1, 0x40000000)
        ptrace(12, 1, 0, registers)
        if registers[15] == 61:  # wait4
            registers[15], registers[14], registers[13] = 157, 1, 0  # prctl, its parent's end, no signal
            ptrace(13, 1, 0, registers)
            ptrace(24, 1, 0, None)
            os.waitpid(1, 0x40000000)
            ptrace(17, 1, 0, None)
            return
        ptrace(24, 1, 0, None)
"""


def held(tree: Path) -> bool:
    """Return whether the daemon lives: its lock says so, whatever number it has."""
    with (tree / "attack" / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _lives(scene: Scene, result: Result) -> bool:
    assert (scene.bench.tree / "attack" / "ready").exists(), result.content
    lives = held(scene.bench.tree)
    end_daemon(scene.bench.tree)
    (scene.bench.tree / "attack" / "ready").unlink()
    return lives


def _cancel(scene: Scene, held: ExitStack) -> None:
    """Cancel the run as soon as the daemon is up."""

    def soon() -> None:
        until = time.monotonic() + WATCH_S
        while not (scene.bench.tree / "attack" / "ready").exists() and time.monotonic() < until:
            time.sleep(0.02)
        scene.bench.cancelled.set()

    thread = threading.Thread(target=soon, daemon=True)
    thread.start()
    held.callback(thread.join, WATCH_S)


_daemon = partial(
    Attack, group=Group.DAEMONS, breach=_lives, control=BARE, stopped_by="process namespace, kill through a pidfd"
)
DAEMONS = (
    _daemon("A daemon outlives the command's exit", script=CLOSED + LEAVE + QUIET + DAEMON),
    _daemon("A daemon that holds the output open outlives the command's exit", script=HELD + LEAVE + QUIET + DAEMON),
    _daemon("A daemon outlives the command's time", script=CLOSED + WAIT + QUIET + DAEMON, timeout_ms=3_000),
    _daemon("A daemon outlives a cancel", script=HELD + WAIT + QUIET + DAEMON, stage=_cancel),
    _daemon(
        "A daemon outlives the bound on output",
        script=CLOSED + "def END():\n    while True: os.write(1, bytes(65536))\n" + QUIET + DAEMON,
        stage=_little_output,
    ),
    _daemon(
        "A daemon outlives a shell that kills itself",
        script=CLOSED + "def END(): os.kill(os.getpid(), 9)\n" + QUIET + DAEMON,
    ),
    _daemon(
        "The sandbox's first process is traced, or written to",
        breach=worked,
        script="""
libc.ptrace.argtypes = [ctypes.c_long] * 4
child = os.fork()
if child == 0:
    import signal
    signal.pause()
first = child if os.path.exists("/proc/1/stat") else 1  # outside, a process of its own stands in
print("trace", "worked" if libc.ptrace(0x4206, first, 0, 0) == 0 else code())
tried("memory", lambda: os.open(f"/proc/{first}/mem", os.O_RDWR))
call("process_vm_writev", first, 0, 0, 0, 0, 0)
os.kill(child, 9)
""",
        stopped_by="filter, covered /proc/1",
    ),
)
