"""What a proof and its integrity report say in words: to the implementer, to the reviewer, and for a verdict."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from agents.models import Proof, ProofState
from agents.tools.base import ProofWord
from workspaces import cuts, odd
from workspaces.integrity.findings import MEANINGS, FindingKind
from workspaces.models import Snapshot
from workspaces.proving.results import NOT_RUN

TAIL_CHARS, TAIL_LINES = 6000, 200
"""Of the outputs of failed commands together, for an agent."""
FINDINGS_CHARS = 12_000
"""Of all findings together; the worst come first."""
PATHS = 20
LINE_CHARS = 300
_NAMES = 20
_TESTS_TOO = "the tests too, unless the task allows to change them"
_KINDS: dict[str, str] = {kind: f"{kind} ({meaning})" for kind, meaning in MEANINGS.items()}


def suspect(counts: dict[str, int]) -> dict[str, int]:
    """Return how many findings there are of each kind that may be bad."""
    return {kind: count for kind, count in counts.items() if kind != FindingKind.ADDED and count}


def listed(counts: dict[str, int]) -> str:
    """Return counts by kind as a list, as in "2 removed, 1 loosened"."""
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


# --- for the implementer -----------------------------------------------------------------------------


def for_implementer(data: dict[str, Any]) -> str:
    """Return a red proof, from the data of its event, as the words that send the implementer back to work."""
    of = Snapshot.called(int(data.get("snapshot") or 0))
    lines = [
        f"The proof of {of} is red. Sakura ran the verify commands itself: in a fresh tree, with the protected files "
        f"as they are at the baseline ({_TESTS_TOO}), and without planted ones.",
        *_bullets(data.get("reasons")),
        *_put_right(data),
        *_outputs(data.get("commands") or []),
        *_findings(data.get("findings") or [], data.get("integrity") or {}),
        "Mend the code, not what judges it, then call finish_task again.",
    ]
    return "\n".join(lines)


def _bullets(items: Any) -> list[str]:
    return [f"- {_line(item)}" for item in (items or [])[:_NAMES]]


def _line(text: Any, limit: int = LINE_CHARS) -> str:
    """Return a text as one line, cut, with characters that hide or reorder it made visible."""
    shown = " ".join(str(text)[: 4 * limit].split())
    return odd.spelled(shown if len(shown) <= limit else f"{cuts.head(shown, limit)}…")


def _put_right(data: dict[str, Any]) -> list[str]:
    """Return which of the run's changes the proof did not let count."""
    back, out = data.get("put_back") or [], data.get("left_out") or []
    lines = []
    if back:
        lines.append(f"Put back to the baseline for it: {_names(back)}.")
    if out:
        lines.append("Left out of it:")
        lines += [f"- {_line(each.get('path'))}: {_line(each.get('why'))}" for each in out[:PATHS]]
        lines += [f"… and {len(out) - PATHS:,} more"] if len(out) > PATHS else []
    return lines


def _names(paths: list[Any]) -> str:
    more = f" and {len(paths) - PATHS:,} more" if len(paths) > PATHS else ""
    return ", ".join(_line(path) for path in paths[:PATHS]) + more


def _outputs(commands: list[dict[str, Any]]) -> list[str]:
    """Return how each command ended, with the end of what the failed ones printed."""
    failed = [each for each in commands if each.get("exit_code") != 0]
    share = max(1, len(failed))
    lines = []
    for each in commands:
        lines.append(_ended(each))
        tail = cuts.tail(str(each.get("output_tail") or "").rstrip(), TAIL_CHARS // share) if each in failed else ""
        lines += [f"    {line}" for line in tail.splitlines()[-TAIL_LINES // share :]]
    return lines


def _ended(command: dict[str, Any]) -> str:
    code = command.get("exit_code")
    how = f"exit code {code}" if code is not None else str(command.get("ending") or "").replace("_", " ")
    why = f" ({_line(command['why'])})" if command.get("why") else ""
    return f"$ {_line(command.get('command'))} → {how}{why}"


# --- the integrity report ----------------------------------------------------------------------------


def _findings(findings: list[dict[str, Any]], counts: dict[str, int]) -> list[str]:
    """Return the report's findings by kind, with the lines, worst first; nothing where there is none."""
    if not counts:
        return []
    lines, room, told = [f"What changed of what decides what the tests mean ({listed(counts)}):"], FINDINGS_CHARS, 0
    for kind, group in groupby(findings, key=lambda each: str(each.get("kind"))):
        lines.append(f"{_KINDS.get(kind, 'other')}:")
        for finding in group:
            words = list(_finding(finding))
            room -= sum(map(len, words))
            if room < 0:
                break
            lines += words
            told += 1
        if room < 0:
            break
    more = sum(counts.values()) - told
    return [*lines, f"… and {more:,} more"] if more > 0 else lines


def _finding(finding: dict[str, Any]) -> Iterable[str]:
    line = finding.get("new_line") or finding.get("old_line")
    name = f" `{_line(finding['name'])}`" if finding.get("name") else ""
    yield f"- {_line(finding.get('path'))}{f':{line}' if line else ''}{name}: {_line(finding.get('why'))}"
    for sign, key in (("-", "old"), ("+", "new")):
        if text := finding.get(key):
            yield f"    {sign} {_line(text)}"


# --- for the reviewer --------------------------------------------------------------------------------


def for_reviewer(proof: Proof | None) -> str:
    """Return what Sakura itself found of the work, for the one who reviews it."""
    if proof is None:
        return "There is no proof of this snapshot."
    report: dict[str, Any] = proof.integrity or {}
    lines = [
        "# The proof, made by Sakura itself\n",
        f"State: {proof.state}. {_how(proof)}",
        *_bullets(proof.reasons),
        *map(_ended, proof.commands),
        *_tests(proof.tests),
        *_put_right({"put_back": proof.put_back, "left_out": proof.left_out}),
        "\n# Integrity of the tests\n",
        *(
            _findings(report.get("findings") or [], report.get("counts") or {})
            or ["Nothing that decides what the tests mean was changed."]
        ),
        *_beside(report),
    ]
    if sentences := against(proof):
        lines += ["", "To approve all the same, say why in submit_review's `despite`: people see it.", *sentences]
    return "\n".join(lines)


def _how(proof: Proof) -> str:
    if all(each.get("ending") in NOT_RUN for each in proof.commands):
        return "No command was run."
    return (
        "The verify commands ran in a fresh tree of the work, with the protected files as they are at the baseline "
        f"({_TESTS_TOO}), and without planted ones."
    )


def _tests(tests: dict[str, Any]) -> list[str]:
    if not any(tests.get(name) for name in ("passed", "failed", "skipped")):
        return []
    counted = ", ".join(f"{tests.get(name) or 0:,} {name}" for name in ("passed", "failed", "skipped"))
    lines = [f"Tests: {counted}."]
    if already := tests.get("already_red"):
        lines.append(f"At the base {already:,} of these were red already.")
    named = (("missing", "Missing now"), ("failing", "Failing now"), ("now_skipped", "Skipped now"))
    lines += [f"{label}: {_names(list(tests[name]))}." for name, label in named if tests.get(name)]
    return lines


def _beside(report: dict[str, Any]) -> list[str]:
    locks, unread = report.get("locks") or [], report.get("unread") or []
    lines = [f"Lock files differ: {_names(list(locks))}."] if locks else []
    return [*lines, *(f"Not looked into: {_line(path)}: {_line(why)}" for path, why in unread[:PATHS])]


# --- for a verdict -----------------------------------------------------------------------------------


def word(proof: Proof | None) -> ProofWord:
    """Return what an approval by the reviewer has to be held against."""
    return ProofWord(proof.state, tuple(against(proof))) if proof else ProofWord()


def against(proof: Proof) -> list[str]:
    """Return in sentences what speaks against an approval; that no verify command is named does not."""
    of = Snapshot.called(proof.snapshot)
    said = []
    if proof.state == ProofState.RED:
        said.append(f"The proof of {of} is red: {_why(proof)}")
    elif proof.state == ProofState.UNPROVEN and proof.commands:
        said.append(f"Nothing is proven of {of}: {_why(proof)}")
    if counts := suspect((proof.integrity or {}).get("counts") or {}):
        said.append(f"The integrity report names changes of what the tests mean: {listed(counts)}.")
    return said


def _why(proof: Proof) -> str:
    return " ".join(_line(reason) for reason in proof.reasons[:5]) or "it gives no reason."
