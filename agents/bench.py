"""What one agent works with: its model, tools, rules, place and read state."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agents import budgets, journal, masking, masks, policies, policy, prompting
from agents.guard import Guard
from agents.journal import CallJournal
from agents.models import Agent, Kind, Secret, Status
from agents.narrowing import USE_SKILL
from agents.providers import models as registry
from agents.providers.base import Call, Provider, ToolSpec
from agents.providers.models import ModelInfo
from agents.providers.tokens import estimate_tokens
from agents.secrets import TaskSecrets
from agents.session import Session, Stopped
from agents.skills import AgentSkills, listed, loaded_in_round
from agents.streams import OpenStream
from agents.tools import runner
from agents.tools.base import ProofWord, Result, Rules, Tool, ToolContext, limits
from workspaces import fresh, readable, sandbox, store
from workspaces.background import Jobs
from workspaces.reads import Reads
from workspaces.sandbox.place import Place, Tree


@dataclass
class Bench:
    """One agent at work in one phase of a run."""

    session: Session
    model: ModelInfo
    provider: Provider
    tools: list[Tool]
    rules: Rules
    reads: Reads
    place: Place
    system_prompt: str
    skills: AgentSkills = field(default_factory=AgentSkills)
    secrets: TaskSecrets = field(default_factory=TaskSecrets)
    jobs: Jobs = field(default_factory=Jobs)
    proof: ProofWord = field(default_factory=ProofWord)

    def __post_init__(self) -> None:
        self.meter = budgets.Meter(self.session)
        self.guard = Guard(self.session, self.rules)
        self._searched = self.session.run.snapshot  # for secrets, up to this one
        self._show_tools()

    def _show_tools(self) -> None:
        """Let the model see the tools that it may use now."""
        shown = runner.usable(self.tools, self.rules)
        self.specs = [ToolSpec(tool.name, tool.description, tool.schema()) for tool in shown]
        self.fixed_tokens = estimate_tokens(self.system_prompt) + sum(
            estimate_tokens(f"{spec.description}{spec.schema}") for spec in self.specs
        )

    @contextmanager
    def context(self, call: Call) -> Iterator[ToolContext]:
        """Give a tool what it may use; what it prints meanwhile goes to who watches, and lasts."""
        session = self.session

        def keep(text: str, offset: int) -> None:
            session.append(
                session.fact(Kind.OUTPUT, {"call_id": call.call_id, "text": text, "offset": offset}, call.call_id)
            )

        with OpenStream(session.run.pk, call.call_id, keep) as stream:
            yield ToolContext(
                workspace=session.place,
                agent=session.agent,
                call_id=call.call_id,
                step=session.run.step,
                reads=self.reads,
                rules=self.rules,
                journal=CallJournal(session, call.call_id),
                place=self.place,
                cancelled=session.cancelled,
                emit=stream.write,
                jobs=self.jobs,
                skills=self.skills,
                secrets=self.secrets,
                limits=self.meter.capped(limits()),
                sees_images=self.model.sees_images,
                proof=self.proof,
            )

    def take_in(self, call: Call, result: Result) -> list[str]:
        """Note what a finished call changes for those to come; return what the agent is to be told of it."""
        if call.name == USE_SKILL:
            self._show_tools()
        if result.touched is None or result.touched:
            return self.skills.note_written(call.call_id) + self._look_for_secrets()
        return []

    def _look_for_secrets(self) -> list[str]:
        """Look through what was written since the last time, where commands of the task get secrets."""
        since, self._searched = self._searched, self.session.run.snapshot
        if not self.secrets.uses or since == self._searched:
            return []
        word = masking.in_files(self.session, since)
        return [word] if word else []


def lay_out(session: Session, environment: Path | None) -> Bench:
    """Return the bench of the session's present agent."""
    task, workspace, agent = session.task, session.place, session.agent
    model = registry.find(task.model)
    if model is None:
        raise Stopped(
            Status.FAILED, f"The model {task.model!r} is not configured any more; launch the task anew with another."
        )
    tools = runner.available(agent, task.toolset)
    applied = policies.of(session.run)
    rules = policy.rules_for(applied, agent, policies.baseline(workspace))
    names = [tool.name for tool in runner.usable(tools, rules)]
    secrets = _secrets(session)
    skills = AgentSkills(workspace, rules, names, loaded_in_round(session.run, agent))
    offered = listed(skills.offered().values()) if USE_SKILL in names else ""
    report = sandbox.probe()
    prompt = prompting.system_prompt(
        session.run, agent, names, offered, secrets.described(), commands_work=report.level != "none"
    )
    return Bench(
        session=session,
        model=model,
        provider=registry.provider_for(model),
        tools=tools,
        rules=skills.narrowed(rules),
        reads=Reads(workspace, agent),
        place=_place(session, environment, applied.policy.network),
        system_prompt=masks.of_run(session.run.pk).text(prompt)[0],
        skills=skills,
        secrets=secrets,
        jobs=Jobs(next_number=journal.next_job(session)),
    )


def _place(session: Session, environment: Path | None, network: Sequence[str]) -> Place:
    """Return where commands of the present agent run; which secrets one gets is added for each."""
    task, workspace = session.task, session.place
    reviews = session.agent is Agent.REVIEWER
    # A reviewer's commands meet neither ignored files nor the .git that the implementer left.
    laid_out = fresh.lay_out(workspace, store.latest(workspace).tree, "review") if reviews else workspace
    return Place(
        tree=laid_out.tree,
        home=laid_out.home,
        mode=Tree.OVERLAY if reviews else Tree.WRITE,
        uid=sandbox.worker_uid(workspace.pk),
        objects=readable.of(workspace).objects,
        environment=environment,
        network=tuple(network),
        withheld=tuple(masks.values(Secret.objects.filter(repository=task.repository))),
    )


def _secrets(session: Session) -> TaskSecrets:
    """Return what commands of the present agent may get; a reviewer's get none."""
    if session.agent is Agent.REVIEWER:
        return TaskSecrets()
    return TaskSecrets(session.task.repository_id, tuple(session.task.rules().secrets))
