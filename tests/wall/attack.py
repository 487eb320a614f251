"""What an attack is: a script, what shows that it came through, what stops it, and the control: that it is live."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from agents.tools.base import Result

if TYPE_CHECKING:
    from tests.wall.scene import Scene

AS_ROOT_OF_ITS_OWN = "unshare --user --map-root-user --mount --net --uts --ipc --pid --fork --mount-proc"


class Group(StrEnum):
    """What an attack is after."""

    FILES = "Files outside the tree"
    APPLICATION = "The application's own files and secrets"
    RUNS = "Other runs, and other commands of the same run"
    HIDDEN = "What the policy hides"
    PROCESSES = "Processes of the machine"
    SOCKETS = "Sockets and the network"
    KERNEL = "Doors of the kernel"
    PRIVILEGES = "More rights"
    RESOURCES = "Using the machine up"
    DAEMONS = "Outliving the end"
    LATER = "What is left for later"


def nothing(scene: "Scene", held: ExitStack) -> None:
    """Ready nothing more."""


Breach = Callable[["Scene", Result], bool]


@dataclass(frozen=True)
class Control:
    """How it is shown that the script works where the wall, or one layer of it, is not."""

    words: str
    holds: Callable[["Scene", "Attack"], bool]


@dataclass(frozen=True)
class Attack:
    """One attack. `needs` names what stands around (surroundings.py); `stage` readies more, before every run.

    `bounds` are settings of this command without SAKURA_, low, so that an attack on them is quick. `absent` returns why
    this machine can't show the control, "" where it can.
    """

    name: str
    group: Group
    script: str
    breach: Breach
    stopped_by: str
    control: Control
    needs: tuple[str, ...] = ()
    language: str = "python"
    timeout_ms: int = 20_000
    bounds: Mapping[str, int] = field(default_factory=dict)
    in_background: bool = False
    stage: Callable[["Scene", ExitStack], None] = nothing
    absent: Callable[[], str] = lambda: ""

    @property
    def preamble(self) -> str:
        return "from kit import *\n" if self.language == "python" else ""


# --- what shows that an attack came through ----------------------------------------------------------------


def tells(scene: "Scene", result: Result) -> bool:
    """The treasure stands in the output."""
    return scene.treasure in result.content


def worked(scene: "Scene", result: Result) -> bool:
    """A call of the script was not refused."""
    return " worked" in result.content


def heard(scene: "Scene", result: Result) -> bool:
    """A listener of the machine got the word."""
    return scene.was_heard()


def changed(scene: "Scene", result: Result) -> bool:
    """The folder outside is not what it was."""
    return scene.outside_now() != scene.outside_then


def harmed(scene: "Scene", result: Result) -> bool:
    """The server's process is gone, or not what it was."""
    return scene.server_was_harmed()


def prints(word: str) -> Breach:
    """Return the breach that shows in a word of the output."""

    def does_print(scene: "Scene", result: Result) -> bool:
        return word in result.content

    return does_print


# --- controls ----------------------------------------------------------------------------------------------

BARE = Control(
    "the same without the sandbox",
    lambda scene, attack: attack.breach(scene, scene.outside(attack)),
)
ROOT_OF_ITS_OWN = Control(
    "without the sandbox, as root of a user namespace of its own",
    lambda scene, attack: attack.breach(scene, scene.outside(attack, before=AS_ROOT_OF_ITS_OWN)),
)
UNFILTERED = Control(
    "in the sandbox without the filter on system calls",
    lambda scene, attack: attack.breach(scene, scene.inside(attack, answer=None)),
)
OTHER_ANSWER = Control(
    "in the sandbox with a filter that answers otherwise: it is the filter that answers",
    lambda scene, attack: "EXFULL" in scene.inside(attack, answer="EXFULL").content,
)


def differs(inside: str, outside: str, *, before: str = "") -> Control:
    """Return the control of what no ordinary user may do: two layers give two answers, so the script reaches both."""

    def holds(scene: "Scene", attack: Attack) -> bool:
        here = scene.results[-1].content
        there = scene.outside(attack, before=before).content
        assert inside in here, here
        return outside in there and inside not in there

    who = "as root of a user namespace of its own" if before else "as an ordinary user"
    return Control(f"without the sandbox, {who}: {outside}, not {inside}", holds)


def none(why: str) -> Control:
    return Control(f"none: {why}", lambda scene, attack: True)
