"""A workspace and an agent at it: calls go through the real runner, then a snapshot is taken as the loop does."""

import hashlib
import threading
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents import policies
from agents.models import Policy
from agents.policy import TaskRules, rules_for
from agents.providers.base import Call
from agents.skills import AgentSkills
from agents.tools import runner
from agents.tools.base import Limits, Output, ProofWord, Result, ToolContext, ToolError
from workspaces import readable, sandbox, snapshots
from workspaces.background import Jobs
from workspaces.models import Workspace
from workspaces.reads import Reads


@dataclass
class Journal:
    """Remembers what a tool told it."""

    writes: list[tuple[str, str, str]] = field(default_factory=list)
    processes: list[tuple[int, int]] = field(default_factory=list)
    connections: list[sandbox.Connection] = field(default_factory=list)

    def will_write(self, path: str, before: str, after: str) -> None:
        self.writes.append((path, before, after))

    def started(self, pid: int, start_time: int) -> None:
        self.processes.append((pid, start_time))

    def connected(self, connection: sandbox.Connection) -> None:
        self.connections.append(connection)


@dataclass
class Given:
    """Gives every command the same secrets."""

    secrets: tuple[tuple[str, str], ...]

    def for_command(self, command: str) -> tuple[tuple[str, str], ...]:
        return self.secrets

    def hint(self, command: str, given: Collection[str]) -> str:
        return ""


@dataclass
class Bench:
    """One agent at one workspace. What its policy hides is covered, unless it was hidden before the tree was laid out.

    `call` returns the result; `printed` is what was pushed while a tool worked.
    """

    workspace: Workspace
    agent: str = "implementer"
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    mode: sandbox.Tree = sandbox.Tree.WRITE
    secrets: tuple[tuple[str, str], ...] = ()
    network: tuple[str, ...] = ()
    proof: ProofWord = field(default_factory=ProofWord)

    def __post_init__(self) -> None:
        self.reads = Reads(self.workspace, self.agent)
        self.journal = Journal()
        self.printed: list[str] = []
        self.cancelled = threading.Event()
        self.step = 0
        self.jobs = Jobs()
        self.skills = AgentSkills()

    @property
    def rules(self) -> TaskRules:
        """The rules of the policy; which tests exist at the base is not known, so all may be changed."""
        return rules_for(policies.of_task(self.policy), self.agent, None)

    @property
    def tree(self) -> Path:
        return self.workspace.tree

    def context(self) -> ToolContext:
        return ToolContext(
            workspace=self.workspace,
            agent=self.agent,
            call_id=f"call_{self.step}",
            step=self.step,
            reads=self.reads,
            rules=self.rules,
            journal=self.journal,
            place=sandbox.Place(
                tree=self.tree,
                home=self.workspace.home,
                mode=self.mode,
                uid=sandbox.worker_uid(self.workspace.pk),
                objects=readable.of(self.workspace).objects,
                covering=() if self.workspace.visible_tree else self.rules.hidden,
                network=self.network,
            ),
            cancelled=self.cancelled,
            emit=self.printed.append,
            jobs=self.jobs,
            skills=self.skills,
            secrets=Given(self.secrets),
            limits=self.limits,
            proof=self.proof,
        )

    def call(self, name: str, **arguments: Any) -> Result:
        return self.give(name, arguments)

    def give(self, name: str, arguments: Any) -> Result:
        """Call a tool with arguments of any shape."""
        self.step += 1
        try:
            prepared = runner.prepare(
                Call(f"call_{self.step}", name, arguments), runner.available(self.agent, "full"), self.tree
            )
            runner.decide(prepared, self.rules)
        except ToolError as error:
            return runner.failure(error)
        result = runner.execute(prepared, self.context())
        if not result.is_error and prepared.tool.output is not Output:
            prepared.tool.output.model_validate(result.data)
        if result.touched is None or result.touched:
            snapshots.take(self.workspace, call_id=f"call_{self.step}", step=self.step, paths=result.touched)
        self.reads.save()
        return result

    def restarted(self) -> "Bench":
        """The same agent in a new process: only what was saved is known."""
        again = replace(self)
        again.step = self.step
        return again

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file behind the agent's back."""
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
