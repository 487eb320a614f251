"""Whether commands can be confined here: found out by running the very line that commands run with."""

import math
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from workspaces.sandbox import candidates, cgroup, cures, etc, seccomp
from workspaces.sandbox.bwrap import BASH, PRLIMIT, Mark, Wall, confined, toolchain_fault
from workspaces.sandbox.identity import barrier, own, own_folder, worker_uid
from workspaces.sandbox.place import Limits, Place, Tree
from workspaces.sandbox.supervise import Ears, supervise

PROBE_S = 20
SAID_BYTES = 64 * 1024
FACTS = r"""
while read -r name value; do
  case $name in NoNewPrivs:|Seccomp:|CapEff:|CapBnd:) echo "$name $value";; esac
done < /proc/self/status
if (: > /usr/.sakura) 2>/dev/null; then echo "usr: writable"; else echo "usr: read-only"; fi
if [ -w /proc/sys/kernel/core_pattern ]; then echo "sys: writable"; else echo "sys: read-only"; fi
if : > /workspace/made && [ "$PWD" = /workspace ]; then echo "workspace: writable"; fi
if : > "$HOME/made"; then echo "home: writable"; fi
count=0; for process in /proc/[0-9]*; do count=$((count + 1)); done; echo "processes: $count"
links=
while read -r name rest; do
  case $name in *:) links="$links${name%:} ";; esac
done < /proc/net/dev
echo "links: $links"
if (: > /dev/sakura) 2>/dev/null; then echo "dev: writable"; else echo "dev: read-only"; fi
echo "processes-limit: $(ulimit -u)"
if [ -x /usr/bin/python3 ]; then echo "python: /usr/bin/python3"; fi
exit 0
"""
WANTED: dict[str, tuple[str, str, str]] = {  # check: (fact, its value, what it means when it is another)
    "no new privileges": ("NoNewPrivs", "1", "a program could gain rights by a set-uid bit"),
    "system call filter": ("Seccomp", "2", "no filter on system calls is in force"),
    "no capabilities": ("CapEff", "0000000000000000", "capabilities are left"),
    "system read-only": ("usr", "read-only", "/usr can be written"),
    "kernel settings read-only": ("sys", "read-only", "/proc/sys can be written"),
    "devices read-only": ("dev", "read-only", "/dev can be filled without a bound"),
    "workspace writable": ("workspace", "writable", "the tree can't be written"),
    "home writable": ("home", "writable", "HOME can't be written"),
    "no network": ("links", "lo", "there is a network device besides lo"),
}
OVERLAY, PYTHON, TOOLCHAINS = "overlay", "a Python for the way to the network", "toolchains mounted"
CGROUP = "a cgroup for each command"
OPTIONAL = {
    OVERLAY: "Overlays are refused here: throw-away trees are copied, and what set-up made is read-only.",
    PYTHON: "There is no /usr/bin/python3: commands that name hosts get no network.",
}
"""Checks without which the sandbox is as tight, and what is then missing."""
MAX_PROCESSES = 6
FALLBACK = "Commands are held by the limits of each process and by the watchdog alone."
NO_PROGRAM = "There is no bubblewrap here."


@dataclass(frozen=True)
class Report:
    """What the probe found. `checks` tells by name what passed; `reasons` are sentences on what did not."""

    level: str  # full, none or off
    bwrap: str = ""
    uid: int | None = None
    reasons: list[str] = field(default_factory=list)
    cure: str = ""
    checks: dict[str, bool] = field(default_factory=dict)
    wall: Wall | None = None
    limits: Limits = field(default_factory=Limits)
    """What a command may use, unless its task says otherwise."""

    @property
    def controllers(self) -> tuple[str, ...]:
        """The cgroup controllers that bound each command."""
        return self.wall.groups.controllers if self.wall and self.wall.groups else ()


_known: list[tuple[tuple[object, ...], Report]] = []  # at most one, of the settings in force
_lock = threading.Lock()


def probe(fresh: bool = False) -> Report:
    """Return what the sandbox is here; the first call (and a fresh one) runs it, in some 100 ms."""
    places = (settings.SAKURA_DATA_DIR, settings.SAKURA_CGROUP, *settings.SAKURA_TOOLCHAINS)
    key = (settings.SAKURA_SANDBOX, settings.SAKURA_BWRAP, places, Limits())
    with _lock:
        if fresh or not _known or _known[0][0] != key:
            _known[:] = [(key, _look())]
        return _known[0][1]


def _look() -> Report:
    uid = worker_uid(0)
    if settings.SAKURA_SANDBOX == "off":
        return Report(
            "off", uid=uid, reasons=["Commands run without a sandbox: SAKURA_SANDBOX=off."], cure=cures.SWITCH_ON
        )
    reasons, checks = list(_obstacles(uid)), {"ready to be tried": False}
    for program in [] if reasons else candidates.all_candidates():
        report = _try(program, uid)
        if report.wall is not None:
            return report
        reasons, checks = reasons + report.reasons, report.checks or checks
    return Report("none", "", uid, reasons or [NO_PROGRAM], cures.cure(uid), checks)


def _obstacles(uid: int | None) -> Iterator[str]:
    """Yield what rules a sandbox out before any program is tried."""
    try:
        seccomp.program()
    except seccomp.UnknownMachine as error:
        yield str(error)
    for program in (PRLIMIT, BASH):
        if not Path(program).exists():
            yield f"{program} is missing: install the packages util-linux and bash."
    try:
        stop = barrier(own_folder(), uid)
    except OSError as error:
        yield f"{settings.SAKURA_DATA_DIR} can't be used: {error.strerror}."
        return
    if stop is not None:
        yield f"Commands run as uid {uid}, which may not enter {stop}, on the way to {settings.SAKURA_DATA_DIR}."


@contextmanager
def _real_place(uid: int | None) -> Iterator[Place]:
    """Yield a real folder of the data folder, as a run has one."""
    folder = Path(tempfile.mkdtemp(prefix="probe-", dir=own_folder()))
    try:
        folder.chmod(0o711)
        for name in ("tree", "home"):
            (folder / name).mkdir()
            own(folder / name, uid)
        yield Place(tree=folder / "tree", home=folder / "home", uid=uid)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _try(program: Path, uid: int | None) -> Report:
    """Run the line with one program; a report without a wall tells why it can't be used."""
    try:
        usable = candidates.reachable(program, uid, own_folder())
        wall = Wall(str(usable), etc.folder(own_folder()), overlay=False)
        with _real_place(uid) as place:
            said = _run(wall, place, FACTS)
            checks = _checks(said)
            reasons = [f"{program}: {fault}" for fault in _faults(said, checks)]
            if reasons:
                return Report("none", str(usable), uid, reasons, checks=checks)
            overlay = _overlay_works(wall, place)
            groups, missing = _groups(wall, place)
    except OSError as error:
        return Report("none", str(program), uid, [f"{program} can't be used: {error}."])
    wall = Wall(wall.bwrap, wall.etc, overlay, _python(said), groups)
    unseen = [fault for path in settings.SAKURA_TOOLCHAINS if (fault := toolchain_fault(path, uid))]
    checks |= {OVERLAY: overlay, PYTHON: bool(wall.python), TOOLCHAINS: not unseen}
    notes = [meaning for check, meaning in OPTIONAL.items() if not checks[check]]
    if settings.SAKURA_CGROUP:
        checks[CGROUP] = groups is not None
        notes += [missing] if missing else []
    return Report("full", wall.bwrap, uid, notes + unseen, checks=checks, wall=wall)


def _groups(wall: Wall, place: Place) -> tuple[cgroup.Groups | None, str]:
    """Return the folder for cgroups if a command really starts in one there, and what it can't do, in a sentence."""
    try:
        groups = cgroup.open_groups()
        if groups is None:
            return None, ""
        with cgroup.group(groups, f"probe-{secrets.token_hex(8)}", _limits()) as group:
            joined: list[bool] = []
            said = _run(wall, place, "echo in", group, lambda pid, started: joined.append(pid in group.members()))
            if said != "in" or not all(joined):
                return None, f"SAKURA_CGROUP={groups.folder} can't be used: no command starts there: {said}. {FALLBACK}"
        return groups, cgroup.missing(groups)
    except (cgroup.Unusable, OSError) as error:
        return None, f"SAKURA_CGROUP={settings.SAKURA_CGROUP} can't be used: {error}. {FALLBACK}"


def _limits() -> Limits:
    return Limits(timeout_s=PROBE_S, disk_floor_bytes=0, memory_floor_bytes=0)


def _run(
    wall: Wall,
    place: Place,
    script: str,
    group: cgroup.Group | None = None,
    on_start: Callable[[int, int], None] = lambda pid, started: None,
) -> str:
    """Return what a script says inside, or bubblewrap in its stead."""
    spool = place.tree.parent / "said"
    ears = Ears(lambda data: None, on_start, threading.Event())
    with ExitStack() as held:
        launch = confined(wall, script, place, _limits(), held, mark=Mark(group=group))
        supervise(launch, _limits(), spool, ears)
    with spool.open("rb") as file:
        return file.read(SAID_BYTES).decode("utf-8", "replace").strip()


def _facts(said: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in said.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _checks(said: str) -> dict[str, bool]:
    facts = _facts(said)
    checks = {check: facts.get(fact) == value for check, (fact, value, _) in WANTED.items()}
    checks["few processes seen"] = _number(facts, "processes") <= MAX_PROCESSES
    checks["processes limited"] = _number(facts, "processes-limit") <= _limits().processes
    return checks


def _number(facts: dict[str, str], name: str) -> float:
    word = facts.get(name, "")
    return int(word) if word.isdigit() else math.inf


def _faults(said: str, checks: dict[str, bool]) -> list[str]:
    if not any(checks.values()):
        return [f"it could not set the sandbox up: {said or 'it said nothing'}"]
    meanings = {check: meaning for check, (_, _, meaning) in WANTED.items()}
    return [meanings.get(check, f"the check “{check}” failed") for check, passed in checks.items() if not passed]


def _overlay_works(wall: Wall, place: Place) -> bool:
    """Return whether a throw-away layer takes writes and leaves the tree below as it is."""
    layered = Wall(wall.bwrap, wall.etc, overlay=True)
    above = Place(tree=place.tree, home=place.home, uid=place.uid, mode=Tree.OVERLAY)
    said = _run(layered, above, "echo more > above && rm made && echo layered")
    return said == "layered" and (place.tree / "made").exists() and not (place.tree / "above").exists()


def _python(said: str) -> str:
    """Return a Python that exists inside: the system's, or one of a toolchain."""
    mounted = [path / "bin" / "python3" for path in settings.SAKURA_TOOLCHAINS]
    return _facts(said).get("python", "") or next((str(path) for path in mounted if path.exists()), "")
