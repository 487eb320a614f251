"""What a tool is: its effect, its failure, its result, and the context it is called in."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Protocol

from django.conf import settings
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from workspaces.background import Jobs
from workspaces.models import Workspace
from workspaces.reads import Reads
from workspaces.sandbox import Connection, Place


class Effect(StrEnum):
    """What a call may do; who gets it, what runs side by side and what may run again follow from it."""

    READ = "READ"
    WRITE = "WRITE"
    EXECUTE = "EXECUTE"
    NETWORK = "NETWORK"
    FINISH = "FINISH"


RETRYABLE: dict[str, bool] = {
    "INVALID_INPUT": True,
    "UNKNOWN_TOOL": False,
    "DENIED": False,
    "SKIPPED": True,
    "INTERNAL_ERROR": False,
    "OUTSIDE_WORKSPACE": False,
    "PROTECTED_PATH": False,
    "NOT_FOUND": False,
    "IS_DIRECTORY": False,
    "NOT_A_DIRECTORY": False,
    "ALREADY_EXISTS": False,
    "SPECIAL_FILE": False,
    "BINARY_FILE": False,
    "UNSUPPORTED_ENCODING": False,
    "TOO_LARGE": True,
    "RANGE": True,
    "NOT_READ": True,
    "PARTIALLY_READ": True,
    "STALE": True,
    "NO_CHANGE": False,
    "NO_MATCH": True,
    "NOT_UNIQUE": True,
    "USE_NOTEBOOK_TOOL": False,
    "INVALID_PATTERN": True,
    "BLOCKED_COMMAND": False,
    "TIMEOUT": True,
    "CANCELLED": False,
    "SANDBOX_UNAVAILABLE": False,
    "WORKSPACE_WRITE_PERMISSION_DENIED": False,
    "DISK_FULL": True,
    "SECRET_DETECTED": False,
    "NO_BASELINE": False,
    "INTERRUPTED": False,
}
"""Every error code, with whether the same intent may succeed on another try."""


class ToolError(Exception):
    """An expected failure, told to the model: a code of RETRYABLE and "what, on what, what to try next"."""

    def __init__(self, code: str, message: str, data: dict[str, Any] | None = None) -> None:
        assert code in RETRYABLE, code
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data or {}


class Input(BaseModel):
    """The base of all inputs: an unknown argument is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", strict=False)


FilePath = Annotated[
    str,
    Field(validation_alias=AliasChoices("file_path", "path"), description="The file, relative to the workspace root."),
]
"""The path of a file as an argument; models of other makes call it `path`."""


@dataclass(frozen=True)
class Fact:
    """What a result is evidence of: which tool said what of which subject, and the call that would renew it."""

    source: str
    subject: str
    range: str = ""
    fingerprint: str = ""
    freshness: str = "snapshot"  # snapshot, stable or derived
    refresh: str = ""


class Output(BaseModel):
    """The base of what tools tell the browser: a result's `data` is a dump of one, unless the call failed."""

    model_config = ConfigDict(extra="forbid")

    fact: Fact | None = None

    def dump(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class Result:
    """What a call gave: `content` for the model, `data` for the browser (a dump of the tool's Output).

    `whole` is the uncut content where `content` was cut (the runner stores it and adds the reference);
    `output_ref` is set instead by a tool that stored its output itself.
    `touched` names the workspace paths that the call wrote; None means any file may have changed.
    """

    content: str
    data: dict[str, Any] = field(default_factory=dict)
    truncated: bool = False
    whole: str | None = None
    output_ref: str = ""
    touched: tuple[str, ...] | None = ()
    is_error: bool = False
    code: str = ""
    images: tuple[tuple[str, str], ...] = ()  # (media type, base64)
    finish: dict[str, Any] | None = None  # the verbatim claim of a FINISH tool
    duration_ms: float = 0  # set by the runner


@dataclass(frozen=True)
class Limits:
    """The caps of results; SAKURA_LIMIT_<NAME> sets another (docs/settings.md)."""

    read_lines: int = 2000
    read_line_chars: int = 2000
    read_chars: int = 60_000
    search_results: int = 250
    search_line_chars: int = 500
    search_chars: int = 20_000
    glob_entries: int = 100
    list_entries: int = 500
    command_chars: int = 30_000
    command_output_bytes: int = 100 * 1024 * 1024
    changes_chars: int = 16_000
    other_chars: int = 20_000
    command_timeout_ms: int = 120_000
    command_timeout_max_ms: int = 600_000


def limits() -> Limits:
    """Return the caps as this installation sets them."""
    return Limits(**settings.SAKURA_LIMITS)


class Protected(Protocol):
    """What keeps a path from being written (agents/protected.py: Protection)."""

    @property
    def rule(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def why(self) -> str: ...


class Decided(Protected, Protocol):
    """What the policy decided of a call (agents/rules.py: Decision)."""

    @property
    def allowed(self) -> bool: ...


class Rules(Protocol):
    """What a tool asks of the policy (agents/policy.py); each `may_` raises ToolError when the answer is no."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """The globs of paths that nobody but people may see; lists and searches leave them out."""

    def of_call(self, tool: str, effect: str) -> "Rules":
        """Return the rules as they are for a call of this tool and effect, so that those which name one fit."""

    def decision(self, tool: str, effect: str, *, paths: Sequence[str] = (), command: str = "") -> Decided:
        """Return what is decided of a call by what it names, and by which rule; it raises nothing."""

    def protection(self, path: str) -> Protected | None:
        """Return what protects a path (relative, posix) from any agent's writing, by whatever means; None: nothing."""

    def hides(self, path: str) -> bool:
        """Return whether the path (relative, posix) fits one of the hidden globs."""

    def may_use(self, tool: str) -> None:
        """Raise DENIED where the policy denies the tool whatever its input."""

    def may_hold_secrets(self, path: str) -> bool:
        """Return whether the path is allowed to hold what looks like a secret, such as a fixture."""

    def may_write(self, path: str) -> None:
        """Raise PROTECTED_PATH, naming the rule, where the path (relative, posix) may not be written."""

    def may_read(self, path: str) -> None:
        """Raise DENIED where the policy hides the path."""

    def may_run(self, command: str) -> None:
        """Raise BLOCKED_COMMAND, naming the rule."""


@dataclass(frozen=True)
class LoadedSkill:
    """A skill's text with the arguments filled in, and what it lets the agent use until the end of the round.

    `path`: of the workspace, "" for one of the application's own. `tools`: our names of tools, None: it narrows
    nothing. `commands`: patterns such as `git *`, None: any. `remaining`: the tools that the agent has from now on.
    `files`: what else lies in its folder. `notes`: sentences for people and the model, such as on unknown tools.
    """

    name: str
    origin: str
    path: str
    text: str
    fingerprint: str = ""
    tools: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None
    remaining: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkillFile:
    """A file in a skill's folder: `file` is its path there, `path` that in the workspace, if it lies in it."""

    skill: str
    origin: str
    file: str
    path: str
    text: str


class Skills(Protocol):
    """The skills that an agent may load (agents/skills.py)."""

    def load(self, name: str, args: str) -> LoadedSkill:
        """Return the skill and narrow what the agent may use. Raises ToolError NOT_FOUND naming those there are."""

    def read(self, name: str, file: str) -> SkillFile:
        """Return a file in the skill's folder. Raises ToolError, OUTSIDE_WORKSPACE past the folder."""


class Journal(Protocol):
    """What a tool tells the journal while it works, so that a crash can be made good."""

    def will_write(self, path: str, before: str, after: str) -> None:
        """Commit that the file at `path` goes from one sha256 to another ("" for absent), just before it does."""

    def started(self, pid: int, start_time: int) -> None:
        """Commit which sandbox process runs the command."""

    def connected(self, connection: Connection) -> None:
        """Commit what became of a connection to the outside; called from any thread, and raises nothing."""


class Secrets(Protocol):
    """The secrets that a task's policy gives to single commands (agents/secrets.py)."""

    def for_command(self, command: str) -> tuple[tuple[str, str], ...]:
        """Return the variables, with their values, that this command may have."""

    def hint(self, command: str, given: Collection[str]) -> str:
        """Return a word on secrets that the command names and did not get, each on a line of its own; "" for none."""


@dataclass(frozen=True)
class ProofWord:
    """What Sakura itself found of the work under review: the proof's state, and what speaks against an approval."""

    state: str = "none"
    against: tuple[str, ...] = ()
    """Sentences; none where an approval needs no word on why."""


@dataclass(frozen=True)
class ToolContext:
    """All that a tool may use. Tools import `workspaces` and this module, nothing else."""

    workspace: Workspace
    agent: str
    call_id: str
    step: int
    reads: Reads
    rules: Rules
    journal: Journal
    place: Place
    cancelled: threading.Event
    emit: Callable[[str], None]
    """Push passing output to who watches."""
    jobs: Jobs
    skills: Skills
    secrets: Secrets
    limits: Limits
    sees_images: bool = True
    """Whether the model can look at pictures."""
    proof: ProofWord = ProofWord()
    """Of the work that a reviewer judges."""
    tool: str = ""
    """The name of the tool that is called (set by the runner)."""
    effect: Effect = Effect.EXECUTE
    """The effect of this very call (set by the runner): READ for a command that the parse proves read-only."""

    @property
    def tree(self) -> Path:
        return self.workspace.tree


class ToolFunction(Protocol):
    __name__: str
    __doc__: str | None

    def __call__(self, ctx: ToolContext, args: Any, /) -> Result: ...


@dataclass(frozen=True)
class Tool:
    """A tool: what the model sees (name, description, schema) and the function that never leaves the process."""

    name: str
    description: str
    effect: Effect
    input: type[Input]
    output: type[Output]
    run: ToolFunction
    toolsets: frozenset[str]
    agents: frozenset[str]
    cap: Callable[[Limits], int]
    """How many characters its result may have."""
    effect_of: Callable[[Any], Effect] | None = None
    """The effect of one call by its input, where that may be less than the tool's."""
    decide: Callable[[Any, Rules], None] | None = None
    """Ask the policy about one call by its input, before anything of it is done. Raises ToolError."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the input; it depends on no model or provider."""
        return self.input.model_json_schema()


REGISTRY: dict[str, Tool] = {}
"""Every tool by name; filled by the @tool of each module of agents.tools (found by agents.tools.__init__)."""


def tool(
    *,
    effect: Effect,
    input: type[Input],
    output: type[Output],
    minimal: bool = False,
    agents: tuple[str, ...] | None = None,
    cap: Callable[[Limits], int] = attrgetter("other_chars"),
    effect_of: Callable[[Any], Effect] | None = None,
    decide: Callable[[Any, Rules], None] | None = None,
) -> Callable[[ToolFunction], ToolFunction]:
    """Register a function as a tool; its name and docstring are what the model sees.

    `minimal`: also in the smallest toolset. `agents`: who gets it; by default everybody gets READ and EXECUTE,
    and a reviewer no WRITE. `cap`, `effect_of` and `decide`: see Tool.
    """

    def register(function: ToolFunction) -> ToolFunction:
        assert function.__name__ not in REGISTRY, function.__name__
        who = agents or (("implementer",) if effect is Effect.WRITE else ("implementer", "reviewer"))
        REGISTRY[function.__name__] = Tool(
            name=function.__name__,
            description=_dedent(function.__doc__ or ""),
            effect=effect,
            input=input,
            output=output,
            run=function,
            toolsets=frozenset({"standard", "full"} | ({"minimal"} if minimal else set())),
            agents=frozenset(who),
            cap=cap,
            effect_of=effect_of,
            decide=decide,
        )
        return function

    return register


def _dedent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().split("\n"))
