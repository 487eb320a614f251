"""What agents claimed when they finished, held against what Sakura knows: which claims the facts do not bear out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from agents import events
from agents.models import Agent, CallState, Event, Kind, Run
from agents.proofs import State, standing
from agents.templatetags.sakura import count_of
from agents.tested import TestRun, last_tests
from agents.tools.base import Result
from workspaces import snapshots
from workspaces.diffs import FileChange

NAMED_FINDINGS = 50
"""How many of a review's findings are held against the tree."""
NAMED_FILES = 20
"""How many file names a sentence lists."""
NO_TEST_RUN = "no command that looks like a test run ended in this run"
NO_RUN_OF_ITS_OWN = "it ran no command that looks like a test run itself"
MAY_HIDE = "may not be the tests’ own"

_SAYS_PASS = re.compile(r"\b(pass(es|ed|ing)?|green|succeed(s|ed)?|ok|clean)\b", re.IGNORECASE)
_NO_FAILURE = re.compile(r"\b(0|no|zero|without)\s+(any\s+)?(fail\w*|errors?)", re.IGNORECASE)
_SAYS_NOT = re.compile(r"\b(not|no|never|none|fail\w*|cannot|unable|without|\w+n['’]t)\b", re.IGNORECASE)
_SAYS_RAN = re.compile(
    r"\b(I|we)\s+(have\s+|’ve\s+|'ve\s+|also\s+)*(re-?)?(ran|run|executed)\b(?!\s+no)", re.IGNORECASE
)
_ABOUT_TESTS = re.compile(r"[^.\n]*\b(tests?|suite|checks?|pytest)\b[^.\n]*", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """The last finish_task of a run."""

    step: int
    summary: str
    modified_files: tuple[str, ...]
    risk_level: str
    test_result: str


# --- what is unproven ----------------------------------------------------------------------------


def held(run: Run, result: Result) -> Result:
    """Return the result of a FINISH call with what of its claim the facts do not bear out, as `data.unproven`."""
    if result.finish is None:
        return result
    unproven = of_review(run, result.finish) if "verdict" in result.finish else of_work(run, result.finish)
    return replace(result, data={**result.data, "unproven": unproven})


def of_work(run: Run, given: dict[str, Any]) -> list[str]:
    """Return in sentences what of an implementer's claim is unproven: files, and tests that are said to pass."""
    claim = _claim(given, 0)
    files = snapshots.changes(run.place).files
    return [*_unproven_files(files, claim, _put_back(run)), *_unproven_tests(run, claim.test_result, claim.summary)]


def of_review(run: Run, given: dict[str, Any]) -> list[str]:
    """Return in sentences what of a reviewer's verdict is unproven: places that there are not, tests said to pass.

    Tests that pass in Sakura's own proof of the files need no run of the reviewer's; that it ran them itself does.
    """
    findings = [each for each in given.get("findings") or () if each.get("file")][:NAMED_FINDINGS]
    found = [sentence for each in findings if (sentence := _unproven_place(run, each))]
    return [*found, *_unproven_of_reviewer(run, str(given.get("summary") or ""))]


def told(run: Run, agent: Agent) -> list[str]:
    """Return what was found unproven of the agent's last FINISH call when its result was kept. One query."""
    event = _last_finish(run, agent)
    data = (event.data.get("data") if event else None) or {}
    return [str(sentence) for sentence in data.get("unproven") or ()]


def _put_back(run: Run) -> set[str]:
    """Return the paths that humans put back: nobody holds those against an agent."""
    return {str(event.data.get("path")) for event in run.events.filter(kind=Kind.REVERT).order_by("-seq")[:200]}


def _unproven_files(files: Sequence[FileChange], claim: Claim, put_back: Collection[str]) -> list[str]:
    only_named, not_named = differences(files, claim, put_back)
    sentences = []
    if only_named:
        sentences.append(f"Says it changed {listed(only_named)}, but that is as it was at the baseline.")
    if not_named:
        how = "without naming" if claim.modified_files else "and names no file; changed:"
        sentences.append(f"Changed files {how} {listed(not_named)}.")
    return sentences


def _unproven_tests(run: Run, said: str, summary: str) -> list[str]:
    """Return why it is unproven that tests pass, where that is said; nothing where it isn't, or is so."""
    quote = pass_quote(summary, said)
    if not quote:
        return []
    why = _why_unproven(last_tests(run))
    return [_says(quote, why)] if why else []


def _says(quote: str, why: str) -> str:
    return f"Says “{' '.join(quote.split())[:200]}”; {why}."


def pass_quote(summary: str, said: str = "") -> str:
    """Return the sentence that says that tests pass; "" where none does."""
    sentences = [said, *(found[0] for found in _ABOUT_TESTS.finditer(summary))]
    return next(filter(says_pass, sentences), "").strip()


def ran_quote(summary: str) -> str:
    """Return the sentence that says that who wrote it ran tests; "" where none does."""
    return next((found[0] for found in _ABOUT_TESTS.finditer(summary) if _SAYS_RAN.search(found[0])), "").strip()


def _unproven_of_reviewer(run: Run, summary: str) -> list[str]:
    passes, ran = pass_quote(summary), ran_quote(summary)
    if not passes and not ran:
        return []
    tests, proof = last_tests(run), standing(run)
    own = tests if tests is not None and tests.agent == Agent.REVIEWER else None
    if passes and proof.state is State.RED and proof.proof is not None:
        return [_says(passes, f"Sakura’s own proof of snapshot {proof.proof.snapshot:,} is red")]
    if ran and own is None:
        return [_says(ran, NO_RUN_OF_ITS_OWN if tests is not None else NO_TEST_RUN)]
    why = "" if not passes or proof.state is State.GREEN else _why_unproven(tests)
    return [_says(passes, why)] if why else []


def _why_unproven(tests: TestRun | None) -> str:
    if tests is None:
        return NO_TEST_RUN
    shown = f"`{' '.join(tests.command.split())[:200]}` (step {tests.step})"
    if tests.exit_code != 0:
        how = "without an exit code" if tests.exit_code is None else f"with exit code {tests.exit_code}"
        return f"the last test run, {shown}, ended {how}"
    if tests.edited_after:
        return f"{tests.edited_after} after the last test run, {shown}"
    return f"the exit code of {shown} {MAY_HIDE}" if tests.hides_exit else ""


def says_pass(text: str) -> bool:
    """Return whether a text says that something passes, and not that something doesn't."""
    plain = _NO_FAILURE.sub("", text)
    return bool(_SAYS_PASS.search(plain)) and not _SAYS_NOT.search(plain)


def _unproven_place(run: Run, finding: dict[str, Any]) -> str:
    """Return a sentence if a finding names a file, or a line of one, that there is not."""
    path, line = _plain_path(str(finding["file"])), finding.get("line")
    for at in (None, 0):  # a deleted file is judged by what it was
        try:
            blob = snapshots.read(run.place, path, at)
        except FileNotFoundError:
            continue
        count = _line_count(blob.data)
        if line and line > count and not blob.truncated:
            return f"A finding names line {line:,} of {path}, which has {count_of(count, 'line')}."
        return ""
    return f"A finding names {path}, which is neither in the tree nor in the baseline."


def _line_count(data: bytes) -> int:
    """Return how many lines the bytes have; a final newline ends the last one and starts no other."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


# --- the claim -----------------------------------------------------------------------------------


def last_claim(run: Run) -> Claim | None:
    """Return what the implementer said when it last finished; None while it did not. One query."""
    event = _last_finish(run, Agent.IMPLEMENTER)
    data: dict[str, Any] = (event.data.get("data") if event else None) or {}
    return _claim(data, event.step) if event else None


def _last_finish(run: Run, agent: Agent) -> Event | None:
    calls = run.calls.filter(tool=agent.finish_tool, state=CallState.DONE).order_by("-pk").values("call_id")[:1]
    event = run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=calls).order_by("-seq").first()
    return None if event is None or event.data.get("is_error") else event


def _claim(data: dict[str, Any], step: int) -> Claim:
    return Claim(
        step=step,
        summary=events.shown(data.get("summary", "")),
        modified_files=tuple(_plain_path(str(path)) for path in data.get("modified_files") or ()),
        risk_level=str(data.get("risk_level") or ""),
        test_result=events.shown(data.get("test_result") or ""),
    )


def _plain_path(path: str) -> str:
    return str(PurePosixPath(path.removeprefix("/workspace/")))


# --- files ---------------------------------------------------------------------------------------


def differences(files: Sequence[FileChange], claim: Claim, put_back: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the files that were named but not changed, and those that were changed but not named.

    What a human put back is not held against the agent.
    """
    changed = {each.path for each in files} | {each.old_path for each in files if each.old_path}
    only_named = [path for path in claim.modified_files if path not in changed and path not in put_back]
    named = set(claim.modified_files)
    return only_named, [each.path for each in files if not {each.path, each.old_path} & named]


def listed(paths: Sequence[str]) -> str:
    """Return paths as a list in words, the first 20 of them."""
    more = len(paths) - NAMED_FILES
    return ", ".join(paths[:NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")
