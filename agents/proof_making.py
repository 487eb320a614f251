"""Makes one proof: what changed of the tests' meaning, then the verify commands on the proof tree, held to the base."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agents import base_proofs, masks, policies, policy
from agents.encoding import safe
from agents.models import Agent, ProofState, Run, Secret
from agents.policies import Applied
from workspaces import sandbox, store
from workspaces.integrity import proof_tree as proof_trees
from workspaces.integrity import report as reports
from workspaces.integrity.findings import Finding, Report
from workspaces.integrity.proof_tree import ProofTree
from workspaces.paths import WorkspaceError
from workspaces.proving import judging, running
from workspaces.proving.results import NOT_RUN, CommandResult
from workspaces.sandbox import Ending

NO_COMMAND = "No verify command is named: name one in the task, in .sakura/policy.toml or in the repository's settings."
NOT_IN_FRESH_TREE = (
    "Set-up ran in the run's own tree, since SAKURA_SANDBOX=off, so there is nothing of it in a fresh one."
)
PATHS = 200
"""Of the baseline's files that were put back, and of planted ones that were left out."""


class Interrupted(Exception):
    """Somebody stopped the proof before its end."""


@dataclass(frozen=True)
class Work:
    """What a proof is made of, for whom, and who may stop it. `name` names its fresh trees and its outputs."""

    run: Run
    tree: str
    name: str
    environment: Path | None
    stop: threading.Event
    on_text: Callable[[str], None]
    planted: tuple[Finding, ...] = ()
    """What lies in the live tree unseen; found by who holds the run."""
    why_not: str = ""
    """A sentence where no command can show anything here."""

    def check(self) -> None:
        if self.stop.is_set():
            raise Interrupted


@dataclass(frozen=True)
class Found:
    """What a proof found; `fields` are the columns of its row."""

    state: ProofState
    reasons: tuple[str, ...]
    report: Report
    tree: ProofTree | None = None
    commands: list[CommandResult] = field(default_factory=list)
    tests: dict[str, Any] = field(default_factory=dict)

    def fields(self, run: Run) -> dict[str, Any]:
        """Return the row's columns, bounded, without secrets and as every database takes them."""
        tree = self.tree or ProofTree("", (), ())
        told = {
            "reasons": list(self.reasons),
            "commands": [_told(each) for each in self.commands],
            "tests": self.tests,
            "put_back": list(tree.put_back[:PATHS]),
            "left_out": [{"path": path, "why": why} for path, why in tree.left_out[:PATHS]],
            "integrity": asdict(self.report),
        }
        return {"state": self.state, "proved_tree": tree.tree, **masks.of_run(run.pk).value(safe(told))[0]}


def _told(command: CommandResult) -> dict[str, Any]:
    """Return what a row keeps of a command: its tests are summed up beside."""
    return {**asdict(replace(command, tests={})), "test_count": len(command.tests)}


def make(work: Work) -> Found:
    """Look at a tree of the run, and run the verify commands on its proof tree. It may take an hour.

    Raises Interrupted.
    """
    applied, place = policies.of(work.run), work.run.place
    report = reports.report(
        place,
        work.tree,
        tests=applied.tests,
        verify=applied.verify,
        planted=work.planted,
        stop=work.stop.is_set,
    )
    work.check()
    if why := _why_not(work, applied):
        return Found(ProofState.UNPROVEN, (why,), report, commands=not_run(applied.verify, Ending.UNAVAILABLE))
    made = _proof_tree(work, applied)
    work.check()
    try:
        known = base_proofs.of(
            place, _base(work.run), applied.verify, place.visible_tree, lambda: _run_base(work, applied)
        )
        base = _masked(work, known)
        now = _run(work, applied, made.tree, work.name)
    except WorkspaceError as error:
        return Found(ProofState.UNPROVEN, (f"The verify commands could not run: {error.message}",), report, made)
    judgement = judging.judge(base, now, may_change_tests=applied.policy.may_change_tests)
    state = ProofState(judgement.state)
    return Found(state, judgement.reasons, report, made, now, safe(asdict(judgement.tests)))


def _why_not(work: Work, applied: Applied) -> str:
    """Return why nothing is run, in a sentence; "" where the commands can run."""
    if not applied.verify:
        return NO_COMMAND
    found = sandbox.probe()
    if found.level == "none":
        return f"The verify commands can't run here. {found.cure}".strip()
    if found.level == "off" and work.run.place.repository.setup:
        return NOT_IN_FRESH_TREE
    return work.why_not


def not_run(commands: Sequence[str], ending: Ending) -> list[CommandResult]:
    """Return commands that nothing came of."""
    return [CommandResult(command, None, ending, 0) for command in commands]


def _base(run: Run) -> str:
    return store.at(run.place, 0).tree


def _proof_tree(work: Work, applied: Applied) -> ProofTree:
    """Return the tree with the baseline's protected files, and without planted ones."""
    rules = policy.rules_for(applied, Agent.IMPLEMENTER, policies.baseline(work.run.place))
    return proof_trees.proof_tree(
        work.run.place,
        work.tree,
        lambda path: rules.protection(path) is not None,
        may_change_tests=applied.policy.may_change_tests,
        verify=applied.verify,
    )


def _run_base(work: Work, applied: Applied) -> list[CommandResult]:
    work.on_text("At the baseline, to see which tests were red before:\n")
    found = _run(work, applied, _base(work.run), f"{work.name}-base")
    for each in found:
        if each.output_ref:
            (work.run.place.outputs / each.output_ref).unlink(missing_ok=True)
    work.on_text("On what the run made of it:\n")
    return found


def _run(work: Work, applied: Applied, tree: str, name: str) -> list[CommandResult]:
    """Run the verify commands on a tree. Raises Interrupted."""
    place = work.run.place
    found = running.run(
        place,
        tree,
        applied.verify,
        name=name,
        environment=work.environment,
        on_text=work.on_text,
        cancelled=work.stop,
        withheld=tuple(masks.values(Secret.objects.filter(repository=place.repository))),
    )
    work.check()
    return _masked(work, found)


def _masked(work: Work, results: list[CommandResult]) -> list[CommandResult]:
    """Return results whose tests' names hold no secret; what was kept before one was set may hold it."""
    mask = masks.of_repository(work.run.place.repository_id)
    if not mask:
        return results
    return [replace(each, tests={mask.text(name)[0]: state for name, state in each.tests.items()}) for each in results]


def could_run(commands: list[dict[str, Any]]) -> bool:
    """Return whether all of a row's commands ran to some end of their own."""
    return bool(commands) and not any(each.get("ending") in NOT_RUN for each in commands)
