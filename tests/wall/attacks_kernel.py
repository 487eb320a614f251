"""Attacks on the kernel: mounts, namespaces, wide calls, settings, devices; and for more rights."""

import os
import shutil
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.wall.attack import (
    AS_ROOT_OF_ITS_OWN,
    BARE,
    OTHER_ANSWER,
    ROOT_OF_ITS_OWN,
    UNFILTERED,
    Attack,
    Control,
    Group,
    differs,
    prints,
    worked,
)
from tests.wall.scene import Scene

NEW_USER, NEW_NET, NEW_MOUNT = 0x10000000, 0x40000000, 0x20000
FILTERED = "filter, no capabilities"


def _no_intel() -> str:
    return "" if os.uname().machine == "x86_64" else "it is a call of x86_64"


def _setting(path: str, wanted: str, why: str) -> str:
    try:
        return "" if Path(path).read_text().strip() == wanted else why
    except OSError:
        return ""


_kernel = partial(Attack, group=Group.KERNEL, breach=worked, control=ROOT_OF_ITS_OWN, stopped_by=FILTERED)
_filtered = partial(_kernel, control=OTHER_ANSWER, stopped_by="filter")


def _as_root(inside: str, outside: str) -> Control:
    return differs(inside, outside, before=AS_ROOT_OF_ITS_OWN)


MOUNTS = (
    _kernel("A file system is mounted", script="call('mount', b'none', b'/tmp', b'tmpfs', 0, 0)"),
    _kernel("The system is mounted anew, writable", script="call('mount', 0, b'/', 0, 0x1020, 0)"),
    _kernel("A folder is mounted over another", script="call('mount', b'/usr', b'/tmp', 0, 0x1000, 0)"),
    _kernel(
        "What covers the kernel's settings is taken away",
        script="call('umount2', b'/proc/sys', 2)",
        control=_as_root("EPERM", "EINVAL"),
    ),
    _kernel(
        "Another root is put in place",
        script="call('pivot_root', b'.', b'.')",
        control=_as_root("EPERM", "EINVAL"),
    ),
    _kernel("The root is changed", script="call('chroot', b'/tmp')"),
    _kernel("A file system is opened by the new calls", script="call('fsopen', b'tmpfs', 0)"),
    _kernel("A tree of mounts is copied", script="call('open_tree', -100, b'/', 0x8001)"),
    _kernel(
        "Mounts are made writable",
        script="call('mount_setattr', -100, b'/', 0, ctypes.create_string_buffer(32), 32)",
    ),
    _filtered(
        "The rest of the new mount calls is tried",
        script="call('move_mount', -1, b'', -1, b'', 4)\ncall('fsconfig', -1, 6, 0, 0, 0)\n"
        "call('fsmount', -1, 0, 0)\ncall('fspick', -100, b'/', 0)",
    ),
    _filtered(
        "A file is opened by its handle",
        script="call('open_by_handle_at', -100, ctypes.create_string_buffer(200), 0)",
    ),
)
NAMESPACES = (
    _kernel("A user namespace is made by unshare", script=f"call('unshare', {NEW_USER})", control=BARE),
    _kernel(
        "A user namespace is made by clone",
        script=f"call('clone', {NEW_USER} | 17, 0, 0, 0, 0)",
        control=BARE,
    ),
    _kernel(
        "A user namespace is made by clone3",
        script=f"import struct\ncall('clone3', struct.pack('8Q', {NEW_USER}, 0, 0, 0, 17, 0, 0, 0), 64)",
        control=BARE,
        stopped_by="filter",
    ),
    _kernel("Namespaces are made by unshare(1)", language="bash", script="unshare -Urmn echo it worked", control=BARE),
    _kernel("A network of its own is made", script=f"call('unshare', {NEW_NET} | {NEW_MOUNT})"),
    _kernel("Another namespace is entered", script="call('setns', os.open('/proc/self/ns/uts', 0), 0)"),
)
WIDE = (
    _kernel("A key is put into the kernel", script="call('add_key', b'user', b'x', b'y', 1, -3)", control=BARE),
    _kernel("The keyrings are looked at", script="call('keyctl', 0, -3, 1)", control=BARE, stopped_by="filter"),
    _kernel(
        "A program is loaded into the kernel by bpf",
        script="call('bpf', 0, ctypes.create_string_buffer(8192), 8192)",
        control=differs("EPERM", "E2BIG"),
    ),
    _kernel(
        "Performance events are opened",
        script="call('perf_event_open', 0, 0, -1, -1, 0)",
        control=differs("EPERM", "EFAULT"),
    ),
    _kernel("Page faults are taken over", script="call('userfaultfd', 1)", control=UNFILTERED, stopped_by="filter"),
    _filtered("The file system's events are listened to", script="call('fanotify_init', 0x200, 0)"),
    _filtered("The kernel's log is read", script="call('syslog', 10, 0, 0)"),
    _filtered(
        "Another kernel is loaded", script="call('kexec_load', 0, 0, 0, 0)\ncall('kexec_file_load', -1, -1, 0, 0, 0)"
    ),
    _filtered(
        "Modules are loaded and removed",
        script="call('init_module', 0, 0, b'')\ncall('finit_module', -1, b'', 0)\ncall('delete_module', b'none', 0)",
    ),
    _filtered(
        "The machine's clock, name, swap and accounting are changed",
        script="call('settimeofday', 0, 0)\ncall('clock_settime', 99, 0)\ncall('sethostname', b'x', 1)\n"
        "call('swapon', b'/none', 0)\ncall('swapoff', b'/none')\ncall('acct', b'/none')\ncall('quotactl', -1, 0, 0, 0)",
    ),
    _filtered("The machine is restarted", script="call('reboot', 0, 0, 0, 0)"),
    _filtered("Ports of the machine are opened", script="call('iopl', 0)\ncall('ioperm', 0, 1, 0)", absent=_no_intel),
    _kernel(
        "A call is made by the door of 32-bit programs",
        script="""
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")  # mov eax, 20 (getpid); int 0x80; ret
enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("int80", "worked" if enter() == os.getpid() else "ENOSYS")
""",
        control=BARE,
        stopped_by="filter",
        absent=_no_intel,
    ),
    _filtered(
        "A call is made by the numbers of x32",
        script="print('x32', 'worked' if libc.syscall(0x40000000 + 39) > 0 else code())",
        absent=_no_intel,
    ),
    _kernel(
        "A call is rewritten by a tracer after the filter saw it",
        script="""
import signal
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    print("unshare", "worked" if libc.syscall(110) == 0 else code(), flush=True)  # getppid, which is never 0
    os._exit(0)
registers = (ctypes.c_ulonglong * 27)()
_, status = os.waitpid(child, 0)
while os.WIFSTOPPED(status):
    libc.ptrace(12, child, 0, registers)
    if registers[15] == 110:
        registers[15], registers[14] = 272, 0x10000000  # unshare, a user namespace
        libc.ptrace(13, child, 0, registers)
    libc.ptrace(24, child, 0, None)
    _, status = os.waitpid(child, 0)
""",
        control=BARE,
        stopped_by="filter",
        absent=_no_intel,
    ),
    _kernel(
        "Characters are pushed into a terminal",
        script="""
import fcntl, pty
if os.fork() == 0:
    os.setsid()
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, 0x540E, 0)  # TIOCSCTTY
    tried("push", lambda: fcntl.ioctl(follower, 0x5412, b"x"))  # TIOCSTI
    os._exit(0)
os.wait()
""",
        control=BARE,
        stopped_by="filter, no terminal",
        absent=lambda: _setting("/proc/sys/dev/tty/legacy_tiocsti", "1", "the kernel lets nobody do it"),
    ),
)
SETTINGS = (
    _kernel(
        "The program that gets core dumps is named",
        script="""
how = "read-only" if os.statvfs("/proc/sys").f_flag & os.ST_RDONLY else "writable"
tried(f"core_pattern in {how} settings", lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
""",
        control=differs("in read-only settings EACCES", "in writable settings EACCES"),
        stopped_by="read-only settings, uid",
    ),
    _kernel(
        "The keys of the kernel's emergency console are pressed",
        script="""
path = "/proc/sysrq-trigger"
owner = os.stat(path).st_uid if os.path.exists(path) else "nobody"
tried(f"sysrq of {owner}", lambda: os.open(path, os.O_WRONLY))
""",
        control=differs("sysrq of 65534 E", "sysrq of 0 EACCES"),
        stopped_by="uid",
        absent=lambda: "" if Path("/proc/sysrq-trigger").exists() else "this kernel has no such keys",
    ),
    _kernel(
        "The network's settings are changed",
        script="tried('forward', lambda: os.open('/proc/sys/net/ipv4/ip_forward', os.O_WRONLY))",
        stopped_by="read-only settings",
    ),
    _kernel(
        "The kernel's objects in /sys, and the release agent of its groups, are reached",
        script="tried('sys', lambda: os.listdir('/sys/kernel')); tried('groups', lambda: os.listdir('/sys/fs/cgroup'))",
        control=BARE,
        stopped_by="mount allow-list",
    ),
    _kernel(
        "A device is made",
        script="""
import stat
tried("pipe", lambda: os.mknod("pipe", stat.S_IFIFO | 0o600))
tried("device", lambda: os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 1)))
""",
        breach=prints("device worked"),
        control=Control("the same call makes a pipe", lambda scene, attack: "pipe worked" in scene.results[-1].content),
        stopped_by="no capabilities",
    ),
    _kernel(
        "Devices beyond the harmless ones are found",
        script="""
known = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm", "fd", "core",
         "stdin", "stdout", "stderr"}
for name in set(os.listdir("/dev")) - known:
    print(name, "worked")
""",
        control=BARE,
        stopped_by="a /dev of its own",
    ),
    _kernel(
        "/dev is filled",
        script="tried('fill', lambda: os.open('/dev/more', os.O_CREAT | os.O_WRONLY))",
        control=differs("EROFS", "EACCES"),
        stopped_by="read-only /dev",
    ),
)


def _other_users_id(scene: Scene, held: ExitStack) -> None:
    """Put a copy of `id` into the tree that belongs to another ordinary user and carries the set-uid bit."""
    path = scene.bench.tree / "whoami"
    shutil.copyfile("/usr/bin/id", path)
    if os.geteuid() == 0:
        os.chown(path, OTHER_USER, OTHER_USER)
    path.chmod(0o4755)


OTHER_USER = 61189
_rights = partial(Attack, group=Group.PRIVILEGES, breach=worked, control=ROOT_OF_ITS_OWN, stopped_by="no capabilities")
PRIVILEGES = (
    _rights(
        "A program's set-uid bit gives another user",
        language="bash",
        script="./whoami",
        stage=_other_users_id,
        breach=prints(f"euid={OTHER_USER}"),
        control=BARE,
        stopped_by="no_new_privs, user namespace",
        absent=lambda: "" if os.geteuid() == 0 else "only root gives a program to another user",
    ),
    _rights(
        "su, sudo and passwd make root",
        language="bash",
        # Nothing runs as root in the control either: where the bit would be honoured, that is enough.
        script="""
if grep -q 'NoNewPrivs:.*0' /proc/self/status; then ls -l /bin/su | grep -q ^-rws && echo it worked
else su -c 'echo it worked'; sudo -n echo it worked; passwd -d root; fi
""",
        control=BARE,
        stopped_by="no_new_privs",
    ),
    _rights("The user becomes root", script="call('setuid', 0)"),
    _rights(
        "Capabilities are taken",
        script="import struct\n"
        "call('capset', struct.pack('Ii', 0x20080522, 0), struct.pack('6I', 1 << 21, 1 << 21, 0, 0, 0, 0))",
    ),
    _rights(
        "A program is given capabilities",
        script="""
import shutil, struct
shutil.copy("/usr/bin/id", "able")
given = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
tried("setcap", lambda: os.setxattr("able", "security.capability", given))
""",
    ),
    _rights(
        "A bound on resources is raised",
        script="import resource\n"
        "tried('raise', lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2))",
        control=BARE,
        stopped_by="rlimits, no capabilities",
    ),
    _rights(
        "The process puts itself before all others",
        script="tried('nicer', lambda: os.setpriority(0, 0, 1)); tried('first', lambda: os.setpriority(0, 0, -10))",
        breach=prints("first worked"),
        control=Control(
            "the same call the other way works", lambda scene, attack: "nicer worked" in scene.results[-1].content
        ),
    ),
    _rights(
        "The process takes the processor in real time",
        script="""
tried("batch", lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)))
tried("real", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
""",
        breach=prints("real worked"),
        control=Control(
            "the same call for batch work works", lambda scene, attack: "batch worked" in scene.results[-1].content
        ),
    ),
)
KERNEL = (*MOUNTS, *NAMESPACES, *WIDE, *SETTINGS)
