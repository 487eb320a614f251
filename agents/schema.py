"""The shapes of events as the API and the socket give them: one source for both, and for the documentation."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from agents.models import Event, Kind


class Body(BaseModel):
    """A text too long for the transcript: its ends, and the `ref` under which /outputs/{ref} gives the whole."""

    truncated: Literal[True] = True
    ref: str
    size: int = Field(description="Characters of the whole text.")
    head: str
    tail: str


Text = str | Body


class Data(BaseModel):
    """What all event data share: a field may be added later, so a reader ignores those it does not know."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class StatusData(Data):
    """The run moved from one status to another; `from` is empty at its launch."""

    from_: str = Field(alias="from")
    to: str
    reason: Text = ""
    by: str = Field("", description="The user who did it; empty when a worker did.")


class MessageData(Data):
    """A human's words: the first is the prompt, later ones steer."""

    text: Text
    author: str = ""


class RequestedCall(Data):
    call_id: str
    name: str
    input: Any


class UsageData(Data):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ModelResponseData(Data):
    """What the model answered, with the calls it asked for."""

    text: Text = ""
    tool_calls: list[RequestedCall] = []
    usage: UsageData = UsageData()
    stop_reason: str = ""
    model: str = ""
    duration_ms: int = 0
    blocks: Any = Field(None, exclude=True, description="The provider's own blocks; never shown.")
    provider: str = Field("", exclude=True)


class CallDecision(Data):
    """What the rules said of a call."""

    allowed: bool
    rule: str = Field("", description="The rule that decided; empty where none is about the call.")
    source: str = Field("", description="Whose it is: task, repository, defaults, installation or skill.")
    why: str = ""


class ToolCallData(Data):
    """A call about to be carried out; `input` is verbatim, `resolved` the paths it names."""

    call_id: str
    tool: str
    input: Any
    resolved: dict[str, Any] = {}
    effect: str = ""
    decision: CallDecision | None = Field(None, description="Of a call that can't be read there is none.")


class OutputData(Data):
    """A piece of a running command's output."""

    call_id: str
    text: Text
    offset: int = 0


class NetworkData(Data):
    """What happened to one connection of a command, or of set-up (without call_id), to the outside."""

    call_id: str = ""
    number: int = Field(description="Counts from 1 within the command; what happens to it later has the same number.")
    target: str = Field(description="host:port in lower case; empty where a request named none.")
    way: Literal["refused", "failed", "opened", "closed", "more"] = Field(
        description="refused: not on the list, or a private address. failed: allowed, and not reached. opened, and "
        "later closed with its bytes. more: comes last, for `count` connections that were not told one by one."
    )
    why: str = Field("", description="Of refused, failed and more, in a sentence.")
    sent: int = Field(0, description="Bytes that left the sandbox, told when the connection closed.")
    received: int = Field(0, description="Bytes that came into the sandbox, told when the connection closed.")
    count: int = Field(1, description="How many connections this stands for.")


class ToolResultData(Data):
    """What came of a call: `content` is what the model got, `data` the same for programs."""

    call_id: str
    tool: str
    is_error: bool
    code: str | None = Field(None, description="Of an error: see the tools' list of codes.")
    content: Text = ""
    data: Any = None
    duration_ms: int = 0
    truncated: bool = False
    output_ref: str = Field("", description="Names the whole output, if it was cut.")


class GuardedPath(Data):
    path: str
    rule: str = Field(description="The rule that protects it.")
    status: str = Field(description="What the command had done to it: added, modified, deleted, renamed or type.")


class LeftPath(GuardedPath):
    why: str = Field("", description="Why it could not be put back.")
    before: int = Field(0, description="The snapshot that it is to be put back from.")


class GuardData(Data):
    """A command had changed protected paths; they were put back from the last snapshot."""

    call_id: str = Field("", description="Empty for what ran in the background.")
    paths: list[GuardedPath] = Field(description="Those that were put back, at most 100 of them.")
    count: int = Field(description="How many there were in all.")
    left: list[LeftPath] = Field([], description="Those that could not be put back, at most 100 of them.")
    left_count: int = 0
    cleared: list[str] = Field([], description="Other paths that were in their way and are gone, at most 100.")
    before: int = Field(0, description="The snapshot that they were put back from.")
    changed: int = Field(description="The snapshot with what the command had made of them.")
    snapshot: int = Field(description="The snapshot after they were put back.")


class SnapshotFile(Data):
    path: str
    status: str
    additions: int | None = 0
    deletions: int | None = 0


class SnapshotData(Data):
    """The tree after a call that changed it."""

    number: int
    call_id: str = ""
    tree: str
    files: list[SnapshotFile] = Field([], description="The first that changed.")
    file_count: int = Field(0, description="How many changed.")
    hidden: list[str] = Field([], description="Paths that git would ignore by a rule that the run added, the first.")
    left_out: list[dict[str, str]] = Field([], description="What can't be stored, each with path and why, the first.")
    left_out_count: int = 0


class ReviewData(Data):
    """A verdict by the reviewer or by a human."""

    review_id: int = 0
    snapshot: int = Field(0, description="What was judged.")
    verdict: str
    author: str = ""
    by_human: bool = False
    score: int | None = None
    summary: Text = ""
    findings: list[Any] = []
    despite: Text = Field("", description="Why it was approved although the proof speaks against it.")
    unproven: list[str] = Field([], description="What an agent said in it and the facts do not bear out, in sentences.")


class CommentData(Data):
    """A human's remark on a line, or on the whole (no path)."""

    comment_id: int
    author: str = ""
    path: str = ""
    line: int | None = None
    side: str = "new"
    body: Text = ""


class RevertData(Data):
    """A human put a file, or hunks of it, back to an earlier snapshot."""

    author: str = ""
    path: str
    to: int
    snapshot: int | None = None


class ProofData(Data):
    """The verify commands of the task, run by Sakura on a snapshot; told when it begins and when it ends."""

    state: str = Field("", description="running, green, red or unproven.")
    snapshot: int = 0
    tree: str = ""
    reasons: list[str] = Field([], description="Sentences on why it is red, or unproven.")
    commands: list[Any] = Field([], description="Each with command, exit_code, ending, duration_ms, output_tail.")
    tests: dict[str, Any] = {}
    integrity: dict[str, int] = Field({}, description="How many findings of each kind there are.")
    findings: list[dict[str, Any]] = Field([], description="Of the report on tests, the first.")
    proved_tree: str = Field("", description="The tree that was run: protected files as at the base, no planted ones.")
    put_back: list[str] = Field([], description="Protected paths that it has as at the base, the first.")
    left_out: list[dict[str, str]] = Field([], description="Planted files that it lacks, each with path and why.")


class ControlData(Data):
    """A human asked the run for something: pause, cancel, steer."""

    verb: str
    by: str = ""
    text: Text = ""


class ErrorData(Data):
    """Something of the run itself went wrong."""

    message: Text
    code: str = ""


class BudgetNear(Data):
    name: str = Field(description="As in a task's budgets.")
    used: float
    limit: float


class NoteData(Data):
    """A word by Sakura to the human or to an agent."""

    text: Text
    to: str = "human"
    budget: BudgetNear | None = Field(None, description="Of a warning: the budget that is nearly used up.")
    granted: dict[str, float] | None = Field(None, description="What was used before the budgets began to count anew.")


class _Event(BaseModel):
    seq: int = Field(description="Counts from 1 within the run, without gaps.")
    at: datetime
    agent: str = Field(description="implementer, reviewer, or empty.")
    step: int


class StatusEvent(_Event):
    kind: Literal["status"]
    data: StatusData


class MessageEvent(_Event):
    kind: Literal["message"]
    data: MessageData


class ModelResponseEvent(_Event):
    kind: Literal["model_response"]
    data: ModelResponseData


class ToolCallEvent(_Event):
    kind: Literal["tool_call"]
    data: ToolCallData


class ToolResultEvent(_Event):
    kind: Literal["tool_result"]
    data: ToolResultData


class OutputEvent(_Event):
    kind: Literal["output"]
    data: OutputData


class NetworkEvent(_Event):
    kind: Literal["network"]
    data: NetworkData


class GuardEvent(_Event):
    kind: Literal["guard"]
    data: GuardData


class SnapshotEvent(_Event):
    kind: Literal["snapshot"]
    data: SnapshotData


class ReviewEvent(_Event):
    kind: Literal["review"]
    data: ReviewData


class CommentEvent(_Event):
    kind: Literal["comment"]
    data: CommentData


class RevertEvent(_Event):
    kind: Literal["revert"]
    data: RevertData


class ProofEvent(_Event):
    kind: Literal["proof"]
    data: ProofData


class ControlEvent(_Event):
    kind: Literal["control"]
    data: ControlData


class ErrorEvent(_Event):
    kind: Literal["error"]
    data: ErrorData


class NoteEvent(_Event):
    kind: Literal["note"]
    data: NoteData


EventOut = Annotated[
    StatusEvent
    | MessageEvent
    | ModelResponseEvent
    | ToolCallEvent
    | ToolResultEvent
    | OutputEvent
    | NetworkEvent
    | GuardEvent
    | SnapshotEvent
    | ReviewEvent
    | CommentEvent
    | RevertEvent
    | ProofEvent
    | ControlEvent
    | ErrorEvent
    | NoteEvent,
    Field(discriminator="kind"),
]


DATA: dict[Kind, type[Data]] = {
    Kind(get_args(event.model_fields["kind"].annotation)[0]): event.model_fields["data"].annotation
    for event in get_args(get_args(EventOut)[0])
}
"""The shape of each kind's data."""

PRIVATE: dict[str, frozenset[str]] = {
    kind.value: frozenset(name for name, field in shape.model_fields.items() if field.exclude)
    for kind, shape in DATA.items()
}


class EventsOut(BaseModel):
    events: list[EventOut]
    last_seq: int = Field(description="The number of the run's latest event.")


def event_json(event: Event) -> dict[str, Any]:
    """Return the event as the API and the socket give it: JSON values only, private keys left out."""
    private = PRIVATE[event.kind]
    return {
        "seq": event.seq,
        "at": moment(event.at),
        "agent": event.agent,
        "step": event.step,
        "kind": event.kind,
        "data": {key: public(value) for key, value in event.data.items() if key not in private},
    }


def moment(at: datetime) -> str:
    """Return a moment in UTC as ISO 8601 with milliseconds and Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def public(value: Any) -> Any:
    """Return event data with each text that went to a file in the shape of Body."""
    match value:
        case {"$body": str(ref), "size": size, "head": head, "tail": tail}:
            return {"truncated": True, "ref": ref, "size": size, "head": head, "tail": tail}
        case dict():
            return {key: public(item) for key, item in value.items()}
        case list():
            return [public(item) for item in value]
        case _:
            return value
