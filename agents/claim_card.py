"""What agents said, beside what was found: Sakura's own proof first, then the agents' own commands, files and risk."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents import claims, policies
from agents.claims import MAY_HIDE, NO_RUN_OF_ITS_OWN, NO_TEST_RUN, Claim, listed, says_pass
from agents.models import Agent, Review, Run
from agents.policy import TaskRules, rules_for
from agents.proof_shown import Shown
from agents.proofs import State
from agents.templatetags.sakura import count_of
from agents.tested import TestRun, last_tests
from workspaces.diffs import FileChange
from workspaces.integrity.roles import Role, role_of

FILES_LOOKED_AT = 2000
"""Changed files whose role and protection are looked at for the row on the risk."""
_COMMANDS, _COMMAND_CHARS = 3, 120
_TOUCHED = (
    (Role.TEST, "existing test", "warn"),
    (Role.OPTIONS, "test options file", "warn"),
    (Role.PIPELINE, "CI file", "warn"),
    (Role.RUNNER, "test runner file", "warn"),
    (Role.MANIFEST, "project file", ""),
    (Role.LOCK, "lock file", ""),
)


@dataclass(frozen=True)
class Found:
    """One thing that was found: a word in a tone, what it rests on, and the step that shows it (0: none)."""

    word: str
    detail: str = ""
    tone: str = ""
    step: int = 0
    commands: tuple[tuple[str, str], ...] = ()
    """The commands that it is about, each with how it ended."""


@dataclass(frozen=True)
class Row:
    """One claim: what was said, by whom, and what was found. `agrees`: None where there is nothing to agree with."""

    check: str
    said: str
    found: tuple[Found, ...]
    agrees: bool | None = None
    by: str = "agent"

    @property
    def is_contradicted(self) -> bool:
        return self.agrees is False and any(each.tone == "bad" for each in self.found)


@dataclass(frozen=True)
class Card:
    """The card. `claim` is None while no agent finished."""

    claim: Claim | None
    rows: tuple[Row, ...]


def card(
    run: Run, files: Sequence[FileChange], put_back: Collection[str], proof: Shown, verdict: Review | None
) -> Card:
    """Hold the last claims against the changed files, the proof and the commands that ran. At most four queries.

    `verdict` is the reviewer agent's on what the run is now; what a human put back is not held against the agent.
    """
    claim, tests = claims.last_claim(run), last_tests(run)
    rows = [_tests_row(claim, proof, tests), _files_row(files, claim, put_back), _risk_row(run, files, claim, proof)]
    return Card(claim, (*rows, *_reviewer_rows(verdict, proof, tests)))


# --- tests ---------------------------------------------------------------------------------------


def _tests_row(claim: Claim | None, proof: Shown, tests: TestRun | None) -> Row:
    said = (claim.test_result or claims.pass_quote(claim.summary)) if claim else ""
    own = _own(tests) if tests is not None else None
    found = tuple(each for each in (_proven(proof), own) if each is not None)
    if not found:
        found = (Found("Unproven", f"Sakura ran no command, and {NO_TEST_RUN}", "warn"),)
    return Row("Tests pass", said, found, _agrees(said, proof, tests))


def _agrees(said: str, proof: Shown, tests: TestRun | None) -> bool | None:
    """Return whether it is so: by the proof where it says anything, else by the agents' own command."""
    if not said:
        return None
    if proof.state is State.GREEN:
        return True
    if proof.state is State.RED or (tests is not None and tests.exit_code != 0):
        return not says_pass(said)
    return tests is not None and tests.proves


def _proven(proof: Shown) -> Found | None:
    """Return what Sakura's own proof shows; None where it ran nothing."""
    where = f"snapshot {proof.snapshot:,}, tree {(proof.proved_tree or proof.tree)[:7]}"
    ran = tuple((each.command[:_COMMAND_CHARS], each.ended) for each in proof.commands[:_COMMANDS])
    match proof.state:
        case State.GREEN | State.RED if proof.commands:
            word = "Proven" if proof.state is State.GREEN else "Red"
            more = [f"{len(proof.commands) - len(ran)} more commands"] if len(proof.commands) > len(ran) else []
            parts = [*more, _counted(proof), f"run by Sakura on {where}"]
            return Found(word, _joined(parts), proof.look.tone, commands=ran)
        case State.STALE if proof.was is not None and proof.commands:
            was = f"the proof of {where} was {proof.was.word.lower()}, and files changed since"
            return Found("Stale", was, "warn")
        case State.WAITING | State.RUNNING:
            return Found("Being proven", f"Sakura runs the verify commands on snapshot {proof.snapshot:,}", "info")
        case State.UNPROVEN if proof.commands:
            return Found("Unproven", _joined(proof.reasons[:1]) or f"Sakura’s proof of {where} shows nothing", "warn")
        case _:
            return None


def _counted(proof: Shown) -> str:
    return ", ".join(f"{each.count:,} {each.word}" for each in proof.counts)


def _joined(parts: Sequence[str]) -> str:
    return " · ".join(part for part in parts if part)


def _own(tests: TestRun) -> Found:
    """Return what the agents' own last test command shows."""
    ran = ((tests.command[:200], f"exit {tests.exit_code}" if tests.exit_code is not None else "no exit code"),)
    detail = f"by the {tests.agent}"
    if tests.exit_code != 0:
        return Found("Failed", detail, "bad", tests.step, ran)
    if tests.edited_after:
        return Found("Unproven", f"{detail}, but {tests.edited_after} after it", "warn", tests.step, ran)
    if tests.hides_exit:
        return Found("Unproven", f"{detail}; this exit code {MAY_HIDE}", "warn", tests.step, ran)
    return Found("Passed", f"{detail}, after the last edit", "ok", tests.step, ran)


def _reviewer_rows(verdict: Review | None, proof: Shown, tests: TestRun | None) -> list[Row]:
    """Return what the reviewer says of tests, where it says anything, beside what it ran itself."""
    summary = verdict.summary if verdict else ""
    ran, passes = claims.ran_quote(summary), claims.pass_quote(summary)
    if not ran and not passes:
        return []
    own = tests if tests is not None and tests.agent == Agent.REVIEWER else None
    shown = _own(own) if own is not None else Found("Unproven", NO_RUN_OF_ITS_OWN, "warn")
    proven = _proven(proof)
    above = [Found(proven.word, "by Sakura’s own proof, as above", proven.tone)] if proven else []
    is_so = (not ran or own is not None) and (not passes or bool(_agrees(passes, proof, own)))
    return [Row("Reviewer", ran or passes, (*above, shown), is_so, by="reviewer")]


# --- files and risk ------------------------------------------------------------------------------


def _files_row(files: Sequence[FileChange], claim: Claim | None, put_back: Collection[str]) -> Row:
    count = count_of(len(files), "file differs,files differ")
    if claim is None or not claim.modified_files:
        return Row("Changed only", "", (Found(count, "from the baseline"),))
    only_named, not_named = claims.differences(files, claim, put_back)
    said = f"It changed {listed(claim.modified_files[:3])}" + _more(len(claim.modified_files) - 3)
    if not only_named and not not_named:
        return Row("Changed only", said, (Found(count, "the very ones it named", "ok"),), True)
    return Row("Changed only", said, (Found(count, _difference(only_named, not_named), "warn"),), False)


def _more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""


def _difference(only_named: list[str], not_named: list[str]) -> str:
    parts = []
    if only_named:
        parts.append(f"named but not changed: {listed(only_named)}")
    if not_named:
        parts.append(f"changed but not named: {listed(not_named)}")
    return "; ".join(parts)


def _risk_row(run: Run, files: Sequence[FileChange], claim: Claim | None, proof: Shown) -> Row:
    """Return what stands against calling the risk low, or high; it is facts, and nothing is added up."""
    said = f"{claim.risk_level} risk" if claim and claim.risk_level else ""
    size = Found(count_of(len(files), "file"), f"+{run.additions:,} −{run.deletions:,} lines")
    found = [size, *_touched(files), *_protected(run, files)]
    if proof.suspect:
        found.append(Found("Tests’ meaning changed", proof.suspect, "warn"))
    return Row("Risk", said, tuple(found))


def _touched(files: Sequence[FileChange]) -> list[Found]:
    found = []
    for role, noun, tone in _TOUCHED:
        paths = [each.path for each in files[:FILES_LOOKED_AT] if _role(each) is role and _is_of(each, role)]
        if paths:
            found.append(Found(count_of(len(paths), noun), _few(paths), tone))
    return found


def _role(change: FileChange) -> Role:
    return role_of(change.old_path or change.path)


def _is_of(change: FileChange, role: Role) -> bool:
    """New tests are no risk."""
    return role is not Role.TEST or change.status != "added"


def _protected(run: Run, files: Sequence[FileChange]) -> list[Found]:
    """Return the changed paths that no agent may write and that no other row names: a person or a rule let them."""
    looked = files[:FILES_LOOKED_AT]
    existing = {each.old_path or each.path for each in looked if each.status != "added"}
    rules: TaskRules = rules_for(policies.of(run), Agent.IMPLEMENTER, existing)
    named = {role for role, _, tone in _TOUCHED if tone}
    paths = [each.path for each in looked if _role(each) not in named and rules.protection(each.path) is not None]
    return [Found(count_of(len(paths), "protected file"), _few(paths), "warn")] if paths else []


def _few(paths: Sequence[str]) -> str:
    return ", ".join(paths[:3]) + _more(len(paths) - 3)
