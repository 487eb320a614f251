"""What the agent claimed when it finished, held against what Sakura knows: which claims the facts bear out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from agents import events
from agents.models import Agent, CallState, Kind, Run
from agents.tested import TestRun, last_tests
from agents.tools.base import Result
from workspaces import snapshots
from workspaces.diffs import FileChange

NAMED_FINDINGS = 50
"""How many of a review's findings are held against the tree."""
NAMED_FILES = 20
"""How many file names a sentence lists."""
_NO_TEST_RUN = "no command that looks like a test run ended in this run"
_MAY_HIDE = "may not be the tests’ own"

_SAYS_PASS = re.compile(r"\b(pass(es|ed|ing)?|green|succeed(s|ed)?|ok|clean)\b", re.IGNORECASE)
_NO_FAILURE = re.compile(r"\b(0|no|zero|without)\s+(any\s+)?(fail\w*|errors?)", re.IGNORECASE)
_SAYS_NOT = re.compile(r"\b(not|no|never|none|fail\w*|cannot|unable|without|\w+n['’]t)\b", re.IGNORECASE)
_ABOUT_TESTS = re.compile(r"[^.\n]*\b(tests?|suite|checks?|pytest)\b[^.\n]*", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One line of the card: what was checked, what Sakura found, what the agent said."""

    check: str
    tone: str
    word: str
    detail: str = ""
    step: int = 0
    """The step that shows it; 0 where none does."""
    said: str = ""
    agrees: bool | None = None
    """Whether the facts bear out what was said; None where nothing was said."""


@dataclass(frozen=True)
class Claim:
    """The last finish_task of a run."""

    step: int
    summary: str
    modified_files: tuple[str, ...]
    risk_level: str
    test_result: str


@dataclass(frozen=True)
class Card:
    """What the proof card shows. `claim` is None while no agent finished."""

    claim: Claim | None
    rows: tuple[Row, ...]


def card(run: Run, files: Sequence[FileChange], put_back: Collection[str] = ()) -> Card:
    """Hold the last claim against the changed files and the commands that ran. At most five queries.

    What a human put back is not held against the agent.
    """
    claim = _last_claim(run)
    return Card(claim, (_tests_row(last_tests(run), claim), _files_row(files, claim, put_back)))


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
    """Return in sentences what of a reviewer's verdict is unproven: places that there are not, tests said to pass."""
    findings = [each for each in given.get("findings") or () if each.get("file")][:NAMED_FINDINGS]
    found = [sentence for each in findings if (sentence := _unproven_place(run, each))]
    return [*found, *_unproven_tests(run, "", str(given.get("summary") or ""))]


def _put_back(run: Run) -> set[str]:
    """Return the paths that humans put back: nobody holds those against an agent."""
    return {str(event.data.get("path")) for event in run.events.filter(kind=Kind.REVERT).order_by("-seq")[:200]}


def _unproven_files(files: Sequence[FileChange], claim: Claim, put_back: Collection[str]) -> list[str]:
    only_named, not_named = _differences(files, claim, put_back)
    sentences = []
    if only_named:
        sentences.append(f"Says it changed {_list(only_named)}, but that is as it was at the baseline.")
    if not_named:
        how = "without naming" if claim.modified_files else "and names no file; changed:"
        sentences.append(f"Changed files {how} {_list(not_named)}.")
    return sentences


def _unproven_tests(run: Run, said: str, summary: str) -> list[str]:
    """Return why it is unproven that tests pass, where that is said; nothing where it isn't, or is so."""
    sentences = [said, *(found[0] for found in _ABOUT_TESTS.finditer(summary))]
    quote = next(filter(_says_pass, sentences), "")
    if not quote:
        return []
    why = _why_unproven(last_tests(run))
    return [f"Says “{' '.join(quote.split())[:200]}”; {why}."] if why else []


def _why_unproven(tests: TestRun | None) -> str:
    if tests is None:
        return _NO_TEST_RUN
    shown = f"`{' '.join(tests.command.split())[:200]}` (step {tests.step})"
    if tests.exit_code != 0:
        how = "without an exit code" if tests.exit_code is None else f"with exit code {tests.exit_code}"
        return f"the last test run, {shown}, ended {how}"
    if tests.edited_after:
        return f"{tests.edited_after} after the last test run, {shown}"
    return f"the exit code of {shown} {_MAY_HIDE}" if tests.hides_exit else ""


def _says_pass(text: str) -> bool:
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
            return f"A finding names line {line:,} of {path}, which has {_count(count, 'line')}."
        return ""
    return f"A finding names {path}, which is neither in the tree nor in the baseline."


def _line_count(data: bytes) -> int:
    """Return how many lines the bytes have; a final newline ends the last one and starts no other."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


# --- the claim -----------------------------------------------------------------------------------


def _last_claim(run: Run) -> Claim | None:
    calls = (
        run.calls.filter(tool=Agent.IMPLEMENTER.finish_tool, state=CallState.DONE).order_by("-pk").values("call_id")[:1]
    )
    event = run.events.filter(kind=Kind.TOOL_RESULT, call_id__in=calls).order_by("-seq").first()
    if event is None or event.data.get("is_error"):
        return None
    data: dict[str, Any] = event.data.get("data") or {}
    return _claim(data, event.step)


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


def _files_row(files: Sequence[FileChange], claim: Claim | None, put_back: Collection[str]) -> Row:
    count = "1 file differs" if len(files) == 1 else f"{len(files):,} files differ"
    if claim is None or not claim.modified_files:
        return Row("Files", "", count, "from the baseline")
    only_named, not_named = _differences(files, claim, put_back)
    said = f"It changed {_count(len(claim.modified_files), 'file')}"
    if not only_named and not not_named:
        return Row("Files", "ok", count, "the very ones it named", said=said, agrees=True)
    return Row("Files", "warn", count, _difference(only_named, not_named), said=said, agrees=False)


def _differences(files: Sequence[FileChange], claim: Claim, put_back: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the files that were named but not changed, and those that were changed but not named."""
    changed = {each.path for each in files} | {each.old_path for each in files if each.old_path}
    only_named = [path for path in claim.modified_files if path not in changed and path not in put_back]
    named = set(claim.modified_files)
    return only_named, [each.path for each in files if not {each.path, each.old_path} & named]


def _difference(only_named: list[str], not_named: list[str]) -> str:
    parts = []
    if only_named:
        parts.append(f"named but not changed: {_list(only_named)}")
    if not_named:
        parts.append(f"changed but not named: {_list(not_named)}")
    return "; ".join(parts)


def _list(paths: list[str]) -> str:
    more = len(paths) - NAMED_FILES
    return ", ".join(paths[:NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- tests ---------------------------------------------------------------------------------------


def _tests_row(tests: TestRun | None, claim: Claim | None) -> Row:
    said = claim.test_result if claim else ""
    if tests is None:
        return _row("warn", "Unproven", _NO_TEST_RUN, 0, said, agrees=False)
    detail = f"{tests.command[:200]} · exit {tests.exit_code} · {tests.agent}"
    if tests.exit_code != 0:
        claims_pass = _says_pass(said)
        return _row("bad", "Failed", detail, tests.step, said, agrees=not claims_pass)
    if tests.edited_after:
        return _row("warn", "Unproven", f"{detail} · but {tests.edited_after} after it", tests.step, said, agrees=False)
    if tests.hides_exit:
        return _row("warn", "Unproven", f"{detail} · this exit code {_MAY_HIDE}", tests.step, said, agrees=False)
    return _row("ok", "Passed", f"{detail} · after the last edit", tests.step, said, agrees=True)


def _row(tone: str, word: str, detail: str, step: int, said: str, *, agrees: bool) -> Row:
    return Row("Tests", tone, word, detail, step, said, agrees if said else None)
