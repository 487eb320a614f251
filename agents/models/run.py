"""A run: one attempt at a task, with its status, lease, transcript rows and journal of calls."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agents.models.task import Task
from workspaces.models import Workspace


class Status(models.TextChoices):
    """Where a run stands; who may move it where is in TRANSITIONS."""

    QUEUED = "queued", "Queued"
    PREPARING = "preparing", "Preparing"
    IMPLEMENTING = "implementing", "Implementing"
    REVIEWING = "reviewing", "Reviewing"
    AWAITING_HUMAN = "awaiting_human", "Waits for you"
    PAUSED = "paused", "Paused"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"
    NEEDS_ATTENTION = "needs_attention", "Needs attention"

    @property
    def is_working(self) -> bool:
        """A worker holds the run, or should."""
        return self in WORKING

    @property
    def is_live(self) -> bool:
        """The run may still go on without a new one being made."""
        return self in WORKING or self in (Status.QUEUED, Status.PAUSED, Status.AWAITING_HUMAN)


WORKING = frozenset({Status.PREPARING, Status.IMPLEMENTING, Status.REVIEWING})
FINAL = frozenset({Status.APPROVED, Status.REJECTED, Status.CANCELLED})
STEERABLE = WORKING | {Status.QUEUED, Status.PAUSED}
PAUSABLE = WORKING | {Status.QUEUED}
RETRYABLE = frozenset({Status.FAILED, Status.NEEDS_ATTENTION})
CANCELLABLE = WORKING | {Status.QUEUED, Status.PAUSED, Status.AWAITING_HUMAN, Status.NEEDS_ATTENTION}
URGENCY = (
    Status.NEEDS_ATTENTION,
    Status.AWAITING_HUMAN,
    Status.PAUSED,
    Status.REVIEWING,
    Status.IMPLEMENTING,
    Status.PREPARING,
    Status.QUEUED,
    Status.APPROVED,
    Status.FAILED,
    Status.REJECTED,
    Status.CANCELLED,
)
"""A task's status is that of its runs' most urgent: what waits for a human first."""
_STOPS = {Status.PAUSED, Status.CANCELLED, Status.FAILED, Status.NEEDS_ATTENTION, Status.QUEUED, Status.AWAITING_HUMAN}

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset(
        {Status.PREPARING, Status.PAUSED, Status.CANCELLED, Status.FAILED, Status.NEEDS_ATTENTION}
    ),
    Status.PREPARING: frozenset({Status.IMPLEMENTING, Status.REVIEWING, *_STOPS}),
    Status.IMPLEMENTING: frozenset({Status.REVIEWING, *_STOPS}),
    Status.REVIEWING: frozenset({Status.IMPLEMENTING, *_STOPS}),
    Status.AWAITING_HUMAN: frozenset({Status.QUEUED, Status.APPROVED, Status.REJECTED, Status.CANCELLED}),
    Status.PAUSED: frozenset({Status.QUEUED, Status.CANCELLED}),
    Status.FAILED: frozenset({Status.QUEUED}),
    Status.NEEDS_ATTENTION: frozenset({Status.QUEUED, Status.CANCELLED}),
    Status.APPROVED: frozenset(),
    Status.REJECTED: frozenset(),
    Status.CANCELLED: frozenset(),
}


class Agent(models.TextChoices):
    """The roles of agents in a run."""

    IMPLEMENTER = "implementer"
    REVIEWER = "reviewer"

    @property
    def finish_tool(self) -> str:
        """The tool by which the agent says that its work is done."""
        return "submit_review" if self is Agent.REVIEWER else "finish_task"


class Run(models.Model):
    """One attempt at a task: own workspace, own transcript, own status."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    workspace = models.OneToOneField(Workspace, null=True, on_delete=models.PROTECT, related_name="run")
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.QUEUED)
    reason = models.TextField(blank=True, help_text="Why the run stands where it stands, in a sentence.")
    resume_to = models.CharField(
        max_length=20, blank=True, help_text="The agent's phase to go on with: implementing or reviewing."
    )
    round = models.PositiveIntegerField(default=1)
    step = models.PositiveIntegerField(default=0, help_text="Model responses so far, of both agents.")
    last_seq = models.PositiveIntegerField(default=0)
    # Lease: who works on it. A run without a worker has no lease_until.
    lease_owner = models.CharField(max_length=200, blank=True)
    lease_epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    takeovers = models.PositiveIntegerField(default=0, help_text="Take-overs since the last step that got done.")
    # What it used and made so far, for the board.
    input_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    worked_ms = models.BigIntegerField(default=0, help_text="Time held by a worker, without waiting for humans.")
    held_since = models.DateTimeField(null=True, blank=True)
    changed_files = models.PositiveIntegerField(default=0)
    additions = models.PositiveIntegerField(default=0)
    deletions = models.PositiveIntegerField(default=0)
    snapshot = models.PositiveIntegerField(default=0, help_text="The number of the latest snapshot.")
    sandbox = models.JSONField(
        default=dict, help_text="What was applied to the last command: level, bwrap, uid, network, limits."
    )
    policy = models.JSONField(
        default=dict, help_text="The policy that applies, with whose each part is (agents/policies.py: Applied)."
    )
    proof_state = models.CharField(max_length=10, blank=True, help_text="Of the latest proof; empty: none was begun.")
    proof_snapshot = models.PositiveIntegerField(default=0, help_text="The snapshot that the latest proof is of.")
    integrity = models.JSONField(default=dict, help_text="How many findings of each kind the latest proof has.")
    masked = models.PositiveIntegerField(default=0, help_text="How often a secret was masked in what the run showed.")
    branch = models.CharField(max_length=250, blank=True)
    commit = models.CharField(max_length=40, blank=True)
    pushed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["task", "number"], name="one_run_per_number"),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="run_status"),
        ]
        indexes = [models.Index(fields=["status", "lease_until"])]

    def __str__(self) -> str:
        return f"run {self.number} of {self.task_id}"

    @property
    def state(self) -> Status:
        return Status(self.status)

    @property
    def place(self) -> Workspace:
        """The run's workspace; every launched run has one."""
        assert self.workspace is not None
        return self.workspace

    @property
    def is_held(self) -> bool:
        """A worker holds the run, so its tree may change at any moment."""
        return self.state.is_working

    def locked(self) -> "Run":
        """Return the run as the database has it, its row locked until the transaction ends."""
        rows = Run.objects.select_for_update(of=("self",)).select_related("task", "workspace__repository")
        return rows.get(pk=self.pk)

    def used(self) -> dict[str, float]:
        """Return how much of each budget is used, by the names of Budgets."""
        return {
            "steps": self.step,
            "seconds": self.elapsed_ms() / 1000,
            "tokens": self.input_tokens + self.output_tokens,
            "usd": float(self.usd),
            "files": self.changed_files,
            "lines": self.additions + self.deletions,
        }

    def move(self, to: Status, *, epoch: int | None = None, **changes: Any) -> bool:
        """Move the run if it still stands where this object says, and return whether this call won.

        `epoch` is a worker's lease epoch; a human passes none. Leaving the worker's hands clears the lease.
        """
        came_from = self.state
        if to not in TRANSITIONS[came_from]:
            return False
        row = Run.objects.filter(pk=self.pk, status=came_from)
        if epoch is not None:
            row = row.filter(lease_epoch=epoch)
        if not to.is_working:
            changes |= {"lease_until": None, "lease_owner": "", **self._stop_clock()}
        if not to.is_live:
            changes["finished_at"] = timezone.now()
        if row.update(status=to, updated_at=timezone.now(), **changes) != 1:
            return False
        self.refresh_from_db(fields=[field.name for field in self._meta.concrete_fields if not field.is_relation])
        return True

    def _stop_clock(self) -> dict[str, Any]:
        return {"held_since": None, "worked_ms": self.elapsed_ms()}

    def elapsed_ms(self, now: datetime | None = None) -> int:
        """Return the milliseconds that workers have held the run, up to now."""
        if self.held_since is None:
            return self.worked_ms
        return self.worked_ms + int(((now or timezone.now()) - self.held_since).total_seconds() * 1000)


class Kind(models.TextChoices):
    """The kinds of events; the shapes of their data are in agents/schema.py."""

    STATUS = "status"
    MESSAGE = "message"
    MODEL_RESPONSE = "model_response"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    OUTPUT = "output"
    NETWORK = "network"
    GUARD = "guard"
    SNAPSHOT = "snapshot"
    REVIEW = "review"
    COMMENT = "comment"
    REVERT = "revert"
    PROOF = "proof"
    CONTROL = "control"
    ERROR = "error"
    NOTE = "note"


class Event(models.Model):
    """One fact in the transcript: append-only, numbered from 1 without gaps within the run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    at = models.DateTimeField()
    agent = models.CharField(max_length=20, blank=True)
    round = models.PositiveIntegerField(default=0)
    step = models.PositiveIntegerField(default=0)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    call_id = models.CharField(max_length=200, blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["run", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="one_event_per_seq")]
        indexes = [models.Index(fields=["run", "call_id"], condition=~Q(call_id=""), name="event_by_call")]

    def __str__(self) -> str:
        return f"{self.kind} {self.seq}"


class CallState(models.TextChoices):
    """Where a call stands in the journal."""

    INTENT = "intent"
    DONE = "done"
    INTERRUPTED = "interrupted"


class ToolCall(models.Model):
    """The journal of one call: the intent is committed before it is carried out, its result after."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="calls")
    call_id = models.CharField(max_length=200)
    agent = models.CharField(max_length=20, choices=Agent.choices)
    step = models.PositiveIntegerField()
    tool = models.CharField(max_length=100)
    effect = models.CharField(max_length=10, blank=True)
    state = models.CharField(max_length=12, choices=CallState.choices, default=CallState.INTENT)
    epoch = models.PositiveIntegerField()
    writes = models.JSONField(
        default=dict, help_text='{path: [sha256 before or "", sha256 after]}, kept just before a write.'
    )
    process = models.JSONField(default=dict, help_text='{"pid", "start", "boot"} of the sandbox, to end it if we die.')
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "call_id"], name="one_call_per_id"),
            models.CheckConstraint(condition=Q(state__in=CallState.values), name="call_state"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.call_id}"


class Control(models.Model):
    """A human's word to a run that a worker holds: pause, cancel, or a message to steer by."""

    class Verb(models.TextChoices):
        PAUSE = "pause"
        CANCEL = "cancel"
        STEER = "steer"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="controls")
    verb = models.CharField(max_length=10, choices=Verb.choices)
    text = models.TextField(blank=True)
    seq = models.PositiveIntegerField(default=0, help_text="The control event that announced it.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["run"], condition=Q(taken_at=None), name="open_controls")]

    def __str__(self) -> str:
        return f"{self.verb} run {self.run_id}"
