"""One agent in a folder: requests become calls of the real tools, their results answers of the protocol."""

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from django.db import connections, transaction
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from agents import policies, policy
from agents.models import Agent, Policy
from agents.providers.base import Call
from agents.skills import AgentSkills
from agents.tools import runner
from agents.tools.base import Limits, Result, Rules, Tool, ToolContext, ToolError, limits
from agents.toolshell import loan
from agents.toolshell.folder import open_folder
from agents.toolshell.lines import BadLine
from workspaces import snapshots
from workspaces.background import Jobs
from workspaces.models import Workspace
from workspaces.reads import Reads
from workspaces.sandbox import Connection, own, worker_uid
from workspaces.sandbox.place import Place, Tree

PARALLEL_LIMIT = 256
"""Calls that one request may release at once."""
LIMIT_OF = {
    "read_file": "read_lines",
    "search_in_files": "search_results",
    "glob": "glob_entries",
    "list_directory": "list_entries",
    "run_command": "command_chars",
    "command_output": "command_chars",
    "check_changes": "changes_chars",
}
"""The number that the ready line tells of a tool."""


class ToolUse(BaseModel):
    """A call as a model makes it; `input` may be of any shape."""

    type: Literal["tool_use"]
    id: str = Field(max_length=1000)
    name: str = Field(max_length=1000)
    input: Any = None


class Parallel(BaseModel):
    """Calls that begin at the same moment."""

    type: Literal["parallel"]
    calls: list[ToolUse] = Field(max_length=PARALLEL_LIMIT)


_REQUEST: TypeAdapter[ToolUse | Parallel] = TypeAdapter(Annotated[ToolUse | Parallel, Field(discriminator="type")])


class NoJournal:
    """Keeps nothing: what a crash leaves behind here is nobody's to take up again."""

    def will_write(self, path: str, before: str, after: str) -> None:
        """Hear of a write."""

    def started(self, pid: int, start_time: int) -> None:
        """Hear of a command."""

    def connected(self, connection: Connection) -> None:
        """Hear of a connection."""


class NoSecrets:
    """A folder has none."""

    def for_command(self, command: str) -> tuple[tuple[str, str], ...]:
        return ()

    def hint(self, command: str, given: Collection[str]) -> str:
        return ""


@dataclass(frozen=True)
class Done:
    """A call that was carried out, or refused before anything of it was done."""

    call_id: str
    step: int
    result: Result


@dataclass
class Session:
    """What one toolshell works with. Calls may come from several threads at once."""

    workspace: Workspace
    agent: Agent
    rules: Rules
    place: Place
    limits: Limits
    skills: AgentSkills
    decide_only: bool = False
    cancelled: threading.Event = field(default_factory=threading.Event)
    jobs: Jobs = field(default_factory=Jobs)

    def __post_init__(self) -> None:
        self.tools: list[Tool] = runner.available(self.agent, "full")
        self.reads = Reads(self.workspace, self.agent)
        self._lock = threading.Lock()
        self._step = 0

    def ready(self) -> dict[str, Any]:
        """Return the first line: the caps, and which tools there are."""
        caps = {tool: getattr(self.limits, name) for tool, name in LIMIT_OF.items()}
        names = [tool.name for tool in runner.usable(self.tools, self.rules)]
        return {"type": "ready", "limits": caps, "tools": names}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request and return the answer. Raises BadLine for what is none."""
        try:
            asked = _REQUEST.validate_python(request)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise BadLine(f"{where}: {fault['msg']}" if where else fault["msg"]) from None
        if isinstance(asked, ToolUse):
            return self._answered(asked)
        return {"type": "parallel_result", "results": self._together(asked.calls)}

    def _together(self, calls: list[ToolUse]) -> list[dict[str, Any]]:
        barrier = threading.Barrier(max(1, len(calls)))

        def released(asked: ToolUse) -> dict[str, Any]:
            barrier.wait()
            try:
                return self._answered(asked)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(max(1, len(calls)), thread_name_prefix="calls") as pool:
            return list(pool.map(released, calls))

    def _answered(self, asked: ToolUse) -> dict[str, Any]:
        done = self.perform(asked.name, asked.input)
        notes = self.keep(done)
        return _told(asked.id, done.result) | ({"notes": notes} if notes else {})

    # --- one call ----------------------------------------------------------------------------

    def perform(self, name: str, given: Any) -> Done:
        """Carry out one call and return its result; `keep` is to follow."""
        with self._lock:
            self._step += 1
            step = self._step
        call = Call(f"call_{step}", name, given)
        try:
            prepared = runner.prepare(call, self.tools, self.workspace.tree)
            runner.decide(prepared, self.rules)
        except ToolError as error:
            return Done(call.call_id, step, runner.failure(error))
        if self.decide_only:
            return Done(call.call_id, step, Result("The policy allows it; nothing was done."))
        return Done(call.call_id, step, runner.execute(prepared, self._context(call, step)))

    def _context(self, call: Call, step: int) -> ToolContext:
        return ToolContext(
            workspace=self.workspace,
            agent=self.agent,
            call_id=call.call_id,
            step=step,
            reads=self.reads,
            rules=self.rules,
            journal=NoJournal(),
            place=self.place,
            cancelled=self.cancelled,
            emit=_nobody_listens,
            jobs=self.jobs,
            skills=self.skills,
            secrets=NoSecrets(),
            limits=self.limits,
        )

    def keep(self, done: Done) -> list[str]:
        """Take the snapshot that a call asks for and save what was read, one call at a time; return what is new."""
        touched = done.result.touched
        loan.settle(self.workspace.tree, touched or (), worker_uid(self.workspace.pk), self.place.uid)
        with self._lock:
            self.save_reads()
            if touched == () or self.agent is not Agent.IMPLEMENTER:
                return []
            ended = self.jobs.ended()
            snapshots.take(self.workspace, call_id=done.call_id, step=done.step, paths=touched)
            for job in ended:
                job.was_scanned = job.was_scanned or touched is None
            return self.skills.note_written(done.call_id)

    def save_reads(self) -> None:
        """Commit what was read since the last time."""
        with transaction.atomic():
            self.reads.save()

    def end(self) -> None:
        """End the commands that still run in the background."""
        self.jobs.stop(self.jobs.running())


def opened(tree: Path, owed: loan.Loan, task_policy: Policy, agent: Agent, *, decide_only: bool = False) -> Session:
    """Return a session of an agent in a folder (a real path); commands start at that path. Raises FolderError."""
    workspace = open_folder(tree, owed.pk)
    own(workspace.home, owed.uid)
    applied = policies.of_task(task_policy)
    rules = policy.rules_for(applied, agent, policies.baseline(workspace))
    names = [tool.name for tool in runner.usable(runner.available(agent, "full"), rules)]
    skills = AgentSkills(workspace, rules, names)
    place = Place(
        tree=workspace.tree,
        home=workspace.home,
        mode=Tree.OVERLAY if agent is Agent.REVIEWER else Tree.WRITE,
        uid=owed.uid,
        network=tuple(applied.policy.network),
        covering=rules.hidden,
        starts_at_real_path=True,
    )
    return Session(workspace, agent, skills.narrowed(rules), place, limits(), skills, decide_only)


def _nobody_listens(text: str) -> None:
    """What a tool prints while it works is in its result too."""


def _told(call_id: str, result: Result) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "is_error": result.is_error,
        "code": result.code or None if result.is_error else None,
        "content": result.content,
        "truncated": result.truncated,
        "data": result.data,
        "duration_ms": result.duration_ms,
    }
    if result.images:
        told["images"] = [{"media_type": kind, "data": data} for kind, data in result.images]
    return told
