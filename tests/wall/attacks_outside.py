"""Attacks on what lies outside the tree: files, the application's own, other runs, processes of the machine."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from agents.tools.base import Result
from tests.wall.attack import BARE, Attack, Group, changed, differs, harmed, tells, worked
from tests.wall.scene import Scene

_file = partial(Attack, group=Group.FILES, language="bash", breach=tells, control=BARE, stopped_by="mount allow-list")
FILES = (
    _file("A file outside is read by its path", script="cat $treasure"),
    _file("A file outside is read by way of `..`", script="cat $(realpath -m --relative-to=$tree $treasure)"),
    _file("A file outside is read through a symbolic link", script="ln -s $treasure link; cat link"),
    _file("A file outside is read through a hard link", script="ln $treasure hard; cat hard"),
    _file("A file outside is read by way of /proc/self/root", script="cat /proc/self/root$treasure"),
    _file(
        "A file outside is read by way of /proc/self/cwd",
        script="cd /; cd $tree; cat /proc/self/cwd/../../../../outside/*",
    ),
    _file("A file outside is read by a descriptor of the root folder", script="exec 9</; cat /proc/self/fd/9$treasure"),
    _file(
        "A file outside is read through the root or the folder of any process",
        script="for at in /proc/[0-9]*; do cat $at/root$treasure $at/cwd/treasure; done",
        needs=("server",),
        stopped_by="process namespace, mount allow-list",
    ),
    _file(
        "A file outside is opened by openat2",
        language="python",
        script="handle = call('openat2', -100, scene['treasure'].encode(), bytes(24), 24); print(os.read(handle, 99))",
        breach=worked,
    ),
    _file(
        "What others left in /tmp is read", script="cat $left_in_tmp", needs=("unix",), stopped_by="a /tmp of its own"
    ),
    _file(
        "What others left in /dev/shm is read",
        script="cat $left_in_shm",
        needs=("shared_memory_file",),
        stopped_by="a /dev/shm of its own",
    ),
    _file("A file outside is written", script="echo $word >> $treasure", breach=changed),
    _file(
        "A file outside is written through a link",
        script="ln -s $outside away; echo $word > away/more; echo $word >> away/treasure",
        breach=changed,
    ),
    _file("A file is moved out of the tree", script="echo $word > mine; mv mine $outside/theirs", breach=changed),
    _file("A file outside is moved into the tree", script="mv $treasure taken", breach=changed),
    _file("A file outside is removed", script="rm -f $treasure", breach=changed),
    _file(
        "The machine's table of passwords is read",
        script="cat /etc/shadow && echo it worked || true",
        breach=worked,
        control=differs("No such file", "Permission denied"),
    ),
    _file(
        "The system's programs are replaced",
        script="echo > /usr/bin/env && echo it worked || true",
        breach=worked,
        stopped_by="read-only system",
        control=differs("Read-only file system", "Permission denied"),
    ),
)

_own = partial(
    Attack, group=Group.APPLICATION, language="bash", breach=tells, control=BARE, stopped_by="mount allow-list"
)
QUERY = """
import sqlite3
base = sqlite3.connect(f"file:{scene['database']}?mode=rw", uri=True)
"""
APPLICATION = (
    _own(
        "The application's database is read",
        language="python",
        needs=("application",),
        script=QUERY + "print(base.execute('SELECT password FROM auth_user').fetchall())",
    ),
    _own(
        "The application's database is written",
        language="python",
        needs=("application",),
        script=QUERY + "base.execute('UPDATE auth_user SET is_superuser = 1'); base.commit()",
        breach=changed,
    ),
    _own("The secret key is read", script="cat $secret_key", needs=("application",)),
    _own(
        "The application's code is changed", script="echo 'import os' >> $code", needs=("application",), breach=changed
    ),
    _own(
        "The application's installation is looked at",
        script="ls $base/manage.py $code && echo it worked || true",
        needs=("application",),
        breach=worked,
    ),
    _own(
        "The server's environment is read",
        script="cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a ^SAKURA_SECRET_KEY",
        needs=("server",),
        stopped_by="process namespace, clean environment",
    ),
    _own(
        "The server's command line is read",
        script="cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -a ^--key=",
        needs=("server",),
        stopped_by="process namespace",
    ),
)


def _deploy_key(scene: Scene, held: ExitStack) -> None:
    """Have another command of this run in the background, which was given a secret."""
    scene.bench.secrets = (("DEPLOY_KEY", scene.treasure),)
    started = scene.bench.call("run_command", command="tail -f /dev/null", run_in_background=True)
    scene.bench.secrets = ()
    held.callback(lambda: scene.bench.call("stop_command", id=started.data["id"]))


_run = partial(
    Attack,
    group=Group.RUNS,
    language="bash",
    breach=tells,
    control=BARE,
    needs=("other_run",),
    stopped_by="mount allow-list",
)
ALTERNATES = """
printf '%s\\n' ${stores//:/ } /sakura/objects/../../runs.git/objects > .git/objects/info/alternates
git cat-file -p $blob; git show $blob
"""


def _other_tree_written(scene: Scene, result: Result) -> bool:
    return any(scene.word in path.read_text() for path in Path(scene.told["other"]).glob("*.txt"))


def _mirror_written(scene: Scene, result: Result) -> bool:
    return (scene.bench.workspace.repository.mirror / "objects" / scene.word).exists()


def _open_mirror(scene: Scene, held: ExitStack) -> None:
    """Let everybody write to the mirror's objects, so that only the mount protects them."""
    (scene.bench.workspace.repository.mirror / "objects").chmod(0o777)


RUNS = (
    _run("Another run's tree is read", script="cat $other/plan.txt"),
    _run(
        "Another run's tree is written",
        script="echo $word > $other/more.txt; echo $word >> $other/plan.txt",
        breach=_other_tree_written,
    ),
    _run("Another run's HOME is read", script="cat $other_home/note"),
    _run(
        "Another run's commit is shown, by alternates that name its objects",
        script=ALTERNATES,
        stopped_by="mount allow-list, a store of objects per run",
    ),
    _run(
        "Another run's commit is shown, by objects that the environment names",
        script="GIT_ALTERNATE_OBJECT_DIRECTORIES=$stores git cat-file -p $blob",
        stopped_by="mount allow-list, a store of objects per run",
    ),
    _run(
        "Objects are put into the mirror that all runs borrow from",
        script="echo $word > /sakura/objects/$word; echo $word > $mirror/objects/$word",
        stage=_open_mirror,
        breach=_mirror_written,
        stopped_by="read-only mount",
    ),
    _run(
        "A secret of another command of the same run is read from its environment",
        script="cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a ^DEPLOY_KEY",
        needs=(),
        stage=_deploy_key,
        stopped_by="process namespace per command",
    ),
)

_process = partial(
    Attack, group=Group.PROCESSES, breach=tells, control=BARE, needs=("server",), stopped_by="process namespace"
)
PROCESSES = (
    _process("A process is killed", script="tried('kill', lambda: os.kill(scene['pid'], 9))", breach=harmed),
    _process("Every process is killed", script="tried('kill', lambda: os.kill(-1, 9))", breach=harmed),
    _process(
        "A process is stopped through a descriptor of it",
        script="import signal\nhandle = call('pidfd_open', scene['pid'], 0)\n"
        "signal.pidfd_send_signal(handle, signal.SIGKILL)",
        breach=harmed,
    ),
    _process(
        "A process is traced",
        script="""
libc.ptrace.argtypes = [ctypes.c_long] * 4
found = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in {scene["pid"], *found} - {1, os.getppid()}:
    print("seize", "worked" if libc.ptrace(0x4206, pid, 0, 0) == 0 else code())
""",
        breach=worked,
    ),
    _process(
        "The memory of a process is read by process_vm_readv",
        script="""
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
mine = ctypes.create_string_buffer(scene["size"])
here, there = Part(ctypes.addressof(mine), scene["size"]), Part(scene["address"], scene["size"])
call("process_vm_readv", scene["pid"], ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print(mine.raw.decode("latin-1"))
""",
    ),
    _process(
        "The memory of a process is read by way of /proc/PID/mem",
        script="""
with open(f"/proc/{scene['pid']}/mem", "rb", 0) as memory:
    memory.seek(scene["address"])
    print(memory.read(scene["size"]))
""",
    ),
    _process(
        "An open file of a process is opened by way of /proc/PID/fd",
        script="print(open(f\"/proc/{scene['pid']}/fd/{scene['descriptor']}\").read())",
    ),
    _process(
        "An open file of a process is taken by pidfd_getfd",
        script="""
handle = call("pidfd_open", scene["pid"], 0)
file = call("pidfd_getfd", handle, scene["descriptor"], 0)
print(os.pread(file, 99, 0))
""",
        stopped_by="process namespace, filter",
    ),
    _process(
        "The bounds of a process are lowered",
        script="from resource import RLIMIT_NOFILE, prlimit\n"
        "tried('prlimit', lambda: prlimit(scene['pid'], RLIMIT_NOFILE, (3, 3)))",
        breach=harmed,
    ),
    _process(
        "A process is made to wait for all others",
        script="tried('nice', lambda: os.setpriority(os.PRIO_PROCESS, scene['pid'], 19))",
        breach=harmed,
    ),
    _process(
        "Shared memory of a process is attached",
        script="""
libc.shmat.restype = ctypes.c_void_p
found = libc.shmget(scene["key"], ctypes.c_size_t(0), 0)
print(code() if found < 0 else ctypes.string_at(libc.shmat(found, None, 0), scene["size"]))
""",
        stopped_by="IPC namespace",
    ),
    _process(
        "A message queue of a process is read",
        script="""
queue = libc.mq_open(f"/sakura-{scene['key']}".encode(), os.O_RDONLY)
found = ctypes.create_string_buffer(8192)
print(code() if queue < 0 else libc.mq_receive(queue, found, ctypes.c_size_t(8192), None), found.value)
""",
        stopped_by="IPC namespace",
    ),
)
