"""The bubblewrap line: what a command sees, in the order of mounting, and what it may use."""

import functools
import os
import resource
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from workspaces.sandbox import environment, layers, seccomp
from workspaces.sandbox.cgroup import Group, Groups
from workspaces.sandbox.identity import barrier, is_root, own_folder
from workspaces.sandbox.launch import Launch
from workspaces.sandbox.place import Applied, Limits, Place, Tree
from workspaces.sandbox.processes import MARK

OBJECTS = "/sakura/objects"
SOCKET = "/sakura/proxy.sock"
FORWARDER = "/sakura/forwarder.py"
PRLIMIT = "/usr/bin/prlimit"
BASH = "/bin/bash"

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
EMPTY_FOLDERS = (
    *("--perms", "0755", "--dir", "/run", "--perms", "0755", "--dir", "/var"),
    *("--symlink", environment.TMP, "/var/tmp"),  # noqa: S108  the sandbox's own
)
FIRST_PROCESS = ("--perms", "0555", "--size", "4096", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
TAKEN = tuple(Path(path) for path in ("/usr", "/etc", "/proc", "/dev", environment.TREE, environment.HOME, "/sakura"))
"""Where the tree's real path can't be shown, since something else is mounted there."""


@dataclass(frozen=True)
class Wall:
    """What the probe found to work: the program, whether overlays are given, a Python inside, a folder for cgroups."""

    bwrap: str
    etc: Path
    """The made-up /etc."""
    overlay: bool = True
    python: str = ""
    groups: Groups | None = None


@dataclass(frozen=True)
class Mark:
    """By what a command is found again: the word that bubblewrap starts with, and its cgroup."""

    token: str = ""
    group: Group | None = None


@dataclass(frozen=True)
class Door:
    """The proxy's socket on the host, through which alone the network is reached."""

    socket: Path
    hosts: tuple[str, ...]


def confined(
    wall: Wall,
    command: str,
    place: Place,
    limits: Limits,
    held: ExitStack,
    door: Door | None = None,
    mark: Mark | None = None,
) -> Launch:
    """Return how to start `command` under bash in the sandbox; what must be closed afterwards is put into `held`."""
    mark = mark or Mark()
    notes: list[str] = []
    reading, writing = os.pipe()
    held.callback(os.close, reading)
    descriptors = _Descriptors(held)
    status = descriptors.keep(writing)
    line = [*NAMESPACES, *_mounts(wall, place, limits, held, notes)]
    line += _door(door, descriptors) if door else []
    line += ["--unsetenv", MARK, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", _start(place)]
    line += ["--seccomp", str(descriptors.file(seccomp.program())), "--json-status-fd", str(status)]
    args = descriptors.file(b"\0".join(os.fsencode(word) for word in line))
    forwarder = [wall.python, "-IS", FORWARDER] if door else []
    return Launch(
        argv=[wall.bwrap, "--args", str(args), "--", *_limited(limits), *forwarder, BASH, "-c", command],
        env=environment.clean(_programs(place), proxied=door is not None, secrets=place.secrets) | {MARK: mark.token},
        cwd=Path("/"),
        uid=place.uid,
        fds=tuple(descriptors.all),
        release=descriptors.close,
        status=reading,
        group=mark.group,
        disks=(place.tree,),
        applied=_applied(wall, place, limits, door, mark.group, notes),
    )


def _mounts(wall: Wall, place: Place, limits: Limits, held: ExitStack, notes: list[str]) -> list[str]:
    """Return all that is seen inside but the door, in order: what comes later covers what came before."""
    return [
        *_system(wall),
        *_kernel(limits),
        *_toolchains(place.uid, notes),
        *("--bind", str(place.home), environment.HOME),
        *layers.tree_mounts(place, held, overlay=wall.overlay, notes=notes),
        *layers.made_mounts(place, held, overlay=wall.overlay, notes=notes),
        *_real_path(place),
        *layers.pins(place),
        *_hidden(place),
        *(("--ro-bind", str(place.objects), OBJECTS) if place.objects else ()),
    ]


def _start(place: Place) -> str:
    """Return the folder inside in which the command starts."""
    real_path = _real_path(place) if place.starts_at_real_path else []
    return real_path[-1] if real_path else environment.TREE


def _programs(place: Place) -> list[str]:
    """Return the folders below the tree whose programs are on the PATH: what set-up made, and the run's own."""
    made = layers.Made.read(place.environment).tree
    return made + [name for name in environment.PROGRAMS if name not in made and (place.tree / name).is_dir()]


def _applied(
    wall: Wall, place: Place, limits: Limits, door: Door | None, group: Group | None, notes: list[str]
) -> Applied:
    controllers = list(group.controllers) if group else []
    return Applied(
        level="full",
        bwrap=wall.bwrap,
        uid=os.geteuid() if place.uid is None else place.uid,
        network=list(door.hosts) if door else [],
        limits=asdict(limits),
        mode=place.mode.value,
        overlay=wall.overlay,
        memory="cgroup" if "memory" in controllers else "watchdog",
        cgroup=controllers,
        secrets=[name for name, _ in place.secrets],
        notes=notes,
    )


class _Descriptors:
    """The open files handed to bubblewrap; closed here once it has started, and at the latest by their holder."""

    def __init__(self, held: ExitStack) -> None:
        self.all: list[int] = []
        self._open: list[int] = []
        held.callback(self.close)

    def keep(self, descriptor: int) -> int:
        self.all.append(descriptor)
        self._open.append(descriptor)
        return descriptor

    def file(self, content: bytes) -> int:
        descriptor = self.keep(os.memfd_create("sandbox", os.MFD_CLOEXEC))
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


@functools.cache
def _system(wall: Wall) -> tuple[str, ...]:
    """Return the mounts of the system, all read-only."""
    line = ["--ro-bind", "/usr", "/usr", "--ro-bind", str(wall.etc), "/etc"]
    for name in SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            line += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            line += ["--ro-bind", str(path), str(path)]
    return tuple(line)


def _toolchains(uid: int | None, notes: list[str]) -> list[str]:
    """Return the mounts of the operator's folders, read-only; after /tmp, which may hold one."""
    line: list[str] = []
    for path in settings.SAKURA_TOOLCHAINS:
        reason = toolchain_fault(path, uid)
        if reason:
            notes.append(reason)
        else:
            line += ["--ro-bind", str(path), str(path)]
    return line


def toolchain_fault(path: Path, uid: int | None) -> str:
    """Return why a folder of SAKURA_TOOLCHAINS can't be mounted, or an empty word."""
    if not path.is_dir():
        return f"toolchain {path} is not mounted: there is no such folder"
    stop = barrier(path, uid)
    return f"toolchain {path} is not mounted: uid {uid} may not enter {stop}" if stop else ""


def _kernel(limits: Limits) -> list[str]:
    """Return the kernel's own file systems; /dev of bubblewrap is an unlimited tmpfs, hence the remount at the end.

    The first process is covered: by its `mem` a command could have it outlive a server that is killed.
    """
    line = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", *FIRST_PROCESS, "--dev", "/dev"]
    for path, size in (("/dev/shm", limits.shm_bytes), (environment.TMP, limits.tmp_bytes)):  # noqa: S108
        line += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    return [*line, *EMPTY_FOLDERS]


def _real_path(place: Place) -> list[str]:
    """Return the link that shows the tree at its path on the host too, so that messages agree."""
    tree = place.tree.absolute()
    if any(tree.is_relative_to(taken) for taken in TAKEN) or tree.is_relative_to(place.home):
        return []
    return ["--symlink", environment.TREE, str(tree)]


def _hidden(place: Place) -> list[str]:
    if not place.hidden:
        return []
    folders, files = layers.hidden_covers(place)
    line: list[str] = []
    for path in folders:
        line += ["--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path]
    for path in files:
        line += ["--ro-bind", str(_nothing()), path]
    return line


def _nothing() -> Path:
    """Return the empty file that covers others: one for all, since each needs no descriptor of its own then."""
    path = own_folder() / "nothing"
    if not path.exists():
        path.touch(mode=0o444)
        path.chmod(0o444)
    return path


def _door(door: Door, descriptors: _Descriptors) -> list[str]:
    script = (Path(__file__).parent / "forwarder.py").read_bytes()
    return [
        "--ro-bind",
        str(door.socket),
        SOCKET,
        "--perms",
        "0444",
        "--file",
        str(descriptors.file(script)),
        FORWARDER,
    ]


def _limited(limits: Limits) -> list[str]:
    """Return prlimit's part; it runs inside, where the count of processes is the sandbox's own."""
    wanted = {
        "nproc": (resource.RLIMIT_NPROC, limits.processes),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_bytes),
        "nofile": (resource.RLIMIT_NOFILE, limits.open_files),
        "core": (resource.RLIMIT_CORE, 0),
        "memlock": (resource.RLIMIT_MEMLOCK, 8 * 1024**2),
        "msgqueue": (resource.RLIMIT_MSGQUEUE, 800 * 1024),
    }
    parts = [f"--{name}={_at_most(kind, value)}" for name, (kind, value) in wanted.items()]
    hard = _at_most(resource.RLIMIT_CPU, limits.cpu_s + 2)
    # Data is a soft limit: sanitizers reserve terabytes that they never touch. What is touched, the watchdog counts.
    soft = f"--data={_at_most(resource.RLIMIT_DATA, limits.memory_bytes)}:"
    return [PRLIMIT, *parts, soft, f"--cpu={min(limits.cpu_s, hard)}:{hard}", "--"]


def _at_most(kind: int, value: int) -> int:
    """Return `value`, or the server's own hard limit where that is lower: it can't be raised."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def unconfined(command: str, place: Place, limits: Limits, marker: str) -> Launch:
    """Return how to start `command` without any sandbox, as the operator asked for by SAKURA_SANDBOX=off."""
    tree, home = str(place.tree), str(place.home)
    env = environment.clean([], home=home, tree=tree, secrets=place.secrets) | {MARK: marker}
    uid = place.uid if is_root() else None
    return Launch(
        argv=[BASH, "-c", command],
        env=env,
        cwd=place.tree,
        uid=uid,
        marker=marker,
        disks=(place.tree,),
        applied=Applied(
            level="off",
            uid=os.geteuid() if uid is None else uid,
            network=["everything"],
            limits={"timeout_s": limits.timeout_s, "output_bytes": limits.output_bytes},
            mode=Tree.WRITE.value,
            secrets=[name for name, _ in place.secrets],
            notes=["there is no sandbox: SAKURA_SANDBOX=off"],
        ),
    )
