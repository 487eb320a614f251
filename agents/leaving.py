"""What left the house in a run, all together: what its model was told, its commands' connections, the pushed branch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.urls import reverse

from agents import network, policies, trace
from agents.models import Kind, Run
from agents.network import Target, Traffic
from agents.providers import models
from agents.trace import Row

LINKS = 5
MAKERS = {"anthropic": "Anthropic", "openai": "OpenAI"}


@dataclass(frozen=True)
class Asked:
    """What went to who runs the model, in tokens: `host` is "" for the maker's own address."""

    provider: str
    host: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Pushed:
    """The branch that was pushed; `host` is "" for a repository on this machine."""

    host: str
    branch: str
    commit: str
    at: datetime


@dataclass(frozen=True)
class Link:
    words: str
    url: str


@dataclass(frozen=True)
class Line:
    """A target with the ways to the commands that used it, the last ones; `more` counts the others."""

    target: Target
    links: tuple[Link, ...]
    by_set_up: bool
    more: int


@dataclass(frozen=True)
class Leaving:
    """What the panel shows. `allowed`: what commands may reach; `set_up_hosts`: what set-up may."""

    asked: Asked | None
    pushed: Pushed | None
    traffic: Traffic
    lines: tuple[Line, ...]
    allowed: tuple[str, ...]
    set_up_hosts: tuple[str, ...]
    is_counted: bool

    @property
    def is_nothing(self) -> bool:
        return not (self.asked or self.pushed or self.lines or self.traffic.untold)


def of(run: Run) -> Leaving:
    """Return what left the house, for the run's page. Queries: see network.traffic and trace.rows."""
    found = network.traffic(run)
    repository = run.task.repository
    return Leaving(
        asked=asked(run),
        pushed=pushed(run),
        traffic=found,
        lines=_lines(run, found),
        allowed=tuple(policies.of(run).policy.network),
        set_up_hosts=tuple(repository.setup_hosts) if repository.setup else (),
        is_counted=run.sandbox.get("level") != "off",
    )


def asked(run: Run) -> Asked | None:
    """Return what the model was asked; None where nobody was asked, as by a script."""
    task = run.task
    if task.is_scripted or not run.step:
        return None
    info = models.find(task.model)
    return Asked(
        provider=MAKERS.get(info.provider, info.provider) if info and not info.host else "",
        host=info.host if info else "",
        model=task.model,
        requests=run.step,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
    )


def pushed(run: Run) -> Pushed | None:
    """Return where the run's branch was pushed to, if it was."""
    if run.pushed_at is None:
        return None
    return Pushed(_host_of(run.task.repository.source), run.branch, run.commit, run.pushed_at)


def _host_of(source: str) -> str:
    """Return the host of a source: of a URL, or of user@host:path."""
    if "://" in source:
        return urlsplit(source).hostname or ""
    return "" if source.startswith("/") else source.partition(":")[0].rpartition("@")[2]


def _lines(run: Run, found: Traffic) -> tuple[Line, ...]:
    if not found.targets:
        return ()
    calls = {row.call_id: row for row in trace.rows(run) if row.kind == Kind.TOOL_CALL}
    return tuple(_line(run, target, calls) for target in found.targets)


def _line(run: Run, target: Target, calls: Mapping[str, Row]) -> Line:
    """Link to the calls that are known still: those of long ago are not (see trace.CALLS)."""
    known = [calls[call_id] for call_id in target.calls if call_id in calls][-LINKS:]
    links = tuple(Link(f"step {row.step}", reverse("run_call", args=[run.pk, row.seq])) for row in known)
    by_set_up = "" in target.calls
    return Line(target, links, by_set_up, target.call_count - len(links) - by_set_up)
