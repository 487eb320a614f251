"""The review page: the proof and the claims, the diff of two snapshots with who wrote what, and what can be decided."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from agents import claim_card, integrity_shown, policies, proof_shown, proofs, review, told
from agents.access import refusal
from agents.models import Role, Run, Status
from agents.proofs import State
from agents.reverts import REVERTIBLE
from agents.views import asked, remarks
from agents.views.diffs import LIMIT_ROWS, Comparison
from agents.views.shown import Note, OfFile, ShownFile, Writer, file_id
from workspaces import snapshots
from workspaces.diffs import Changes, FileChange
from workspaces.models import Snapshot

SECTIONS = 100
"""Files that the page has a section for; the list beside it has all."""
LISTED = 1000
PROPOSED = 5
LINES_AT_ONCE = 3000
"""Changed lines drawn with the page; files past them are loaded on demand."""


@dataclass(frozen=True)
class Bar:
    """What can be decided now; `why` says in a sentence why not, `why_not_approve` why at least not that."""

    why: str
    why_not_approve: str
    against: str = ""
    """What speaks against approving just like that: then a sentence on why is asked for."""


def page(request: HttpRequest, run: Run, *, status: int = 200, **said: Any) -> HttpResponse:
    """Render the page, one file of it (`part=1`), or the proof (`part=proof`); `said` is what a refused post says."""
    if request.GET.get("part") == "proof":
        return render(request, "agents/review/_proof.html", proof_context(run))
    chain = remarks.chain(run)
    if not chain:
        return render(request, "agents/review/empty.html", {"run": run, "task": run.task}, status=status)
    comparison, about = _compare(request, run, chain)
    changes = comparison.changes
    wanted = request.GET.get("path", "")
    if request.GET.get("part"):
        return _part(request, run, comparison, wanted)
    files = _sections(request, comparison, wanted)
    context = {
        **about,
        **said,
        **_evidence(request, run, comparison, files, about),
        "run": run,
        "task": run.task,
        "latest": chain[-1],
        "comparison": comparison,
        "changes": changes,
        "files": files,
        "listed": _listed(changes, about["notes"], request.GET.get("q", "")),
        "reverted_paths": _reverted(about["reverts"], changes),
        "loose_notes": _loose(about["notes"], changes),
        "undo": _undo(run, about["reverts"]),
        "next_commands": snapshots.fetch_commands(run.place, run.branch) if run.branch else [],
        "wanted": file_id(wanted) if wanted else "",
        "may_revert": run.state in REVERTIBLE,
        "open_count": sum(note.is_open for note in about["notes"]),
        "finding_count": sum(note.is_finding and note.round == run.round for note in about["notes"]),
    }
    return render(request, "agents/review.html", context, status=status)


def proof_context(run: Run) -> dict[str, Any]:
    """Return what the card of the proof shows. At most three queries."""
    found = proofs.standing(run)
    repository, verify = run.task.repository, policies.of(run).verify
    return {
        "run": run,
        "task": run.task,
        "proof": proof_shown.of_row(found.proof, found.state, found.since),
        "report": found.proof.integrity if found.proof else {},
        "verify": verify,
        "proposed": [] if verify else _proposed(repository.suggestions, repository.verify),
    }


def _proposed(suggestions: Any, used: list[str]) -> list[tuple[int, str]]:
    """Return the verify commands that were found in the repository, each with its place in its suggestions."""
    found = told.rows((suggestions or {}).get("verify") if isinstance(suggestions, dict) else None)
    commands = [(place, told.text(each.get("command"), 4000)) for place, each in enumerate(found)]
    return [(place, command) for place, command in commands if command and command not in used][:PROPOSED]


def _evidence(
    request: HttpRequest, run: Run, comparison: Comparison, files: list[ShownFile], about: dict[str, Any]
) -> dict[str, Any]:
    """Return what the page shows beside the diff: the proof, the integrity report, the claims, what can be decided."""
    context = proof_context(run)
    last = run.reviews.filter(by_human=False).last()
    current = last if last is not None and last.round == run.round else None
    put_back = {each.path for each in about["reverts"]}
    proof = context["proof"]
    return {
        **context,
        "integrity": integrity_shown.of(context["report"], _links(comparison, files)),
        "card": claim_card.card(run, comparison.changes.files, put_back, proof, current)
        if comparison.is_whole
        else None,
        "last_agent_review": last,
        "decided": None if run.state.is_live else run.reviews.filter(by_human=True).last(),
        "although": _ALTHOUGH.get(proof.state, "what the tests mean changed" if proof.suspect else "not all is proven"),
        "may_change_tests": policies.of(run).policy.may_change_tests,
        "bar": _bar(request, run, proof, bool(context["verify"])),
    }


def _links(comparison: Comparison, files: list[ShownFile]) -> integrity_shown.Links:
    """Return where the page has the changed lines, and the files: what is folded is asked for by its link."""
    links: dict[tuple[str, str, int], str] = {}
    if not comparison.is_whole:
        return links
    for file in files:
        for path in {file.change.path, file.change.old_path or file.change.path}:
            links[(path, "new", 0)] = f"#{file.id}" if file.is_loaded else f"?{file.query}#{file.id}"
        for row in file.rows:
            if row.new:
                links[(file.change.path, "new", row.new)] = f"#{file.id}-{row.anchor}"
            if row.old:
                links[(file.change.old_path or file.change.path, "old", row.old)] = f"#{file.id}-{row.anchor}"
    return links


def _compare(request: HttpRequest, run: Run, chain: list[Snapshot]) -> tuple[Comparison, dict[str, Any]]:
    viewer = asked.user(request)
    latest = chain[-1].number
    start, end = asked.snapshot(request, "from", 0, latest), asked.snapshot(request, "to", latest, latest)
    put_back = remarks.reverts(run, viewer)
    writers = remarks.writers(run, chain, put_back)
    notes = remarks.notes(run, viewer)
    comparison = Comparison(run.place, start, end, chain, writers, _by_path(notes))
    return comparison, {"reverts": put_back, "notes": notes, "options": _options(chain, writers)}


def _part(request: HttpRequest, run: Run, comparison: Comparison, wanted: str) -> HttpResponse:
    change = next((each for each in comparison.changes.files if each.path == wanted), None)
    if change is None:
        raise Http404("No such file differs between these snapshots.")
    comparison.load([change])
    shown = comparison.show(change, gaps=bool(request.GET.get("gaps")), whole=True)
    context = {
        "run": run,
        "task": run.task,
        "comparison": comparison,
        "file": shown,
        "may_revert": run.state in REVERTIBLE,
    }
    return render(request, "agents/review/_file.html", context)


def _sections(request: HttpRequest, comparison: Comparison, wanted: str) -> list[ShownFile]:
    """Draw the first files up to a number of lines, and the wanted one in any case; the others wait to be asked for."""
    whole, gaps = bool(request.GET.get("whole")), bool(request.GET.get("gaps"))
    present = [each for index, each in enumerate(comparison.changes.files) if index < SECTIONS or each.path == wanted]
    drawn = {each.path for each in _first(present, LINES_AT_ONCE)} | {wanted}
    comparison.load(each for each in present if each.path in drawn)
    return [
        comparison.show(each, whole=whole and each.path == wanted, gaps=gaps and each.path == wanted)
        if each.path in drawn
        else comparison.folded(each)
        for each in present
    ]


def _first(files: list[FileChange], lines: int) -> Iterator[FileChange]:
    """Yield files while their changed lines fit in; one that is folded anyway takes no room."""
    for change in files:
        count = change.additions + change.deletions
        lines -= count if count <= LIMIT_ROWS else 0
        if lines < 0:
            return
        yield change


@dataclass(frozen=True)
class Listed(OfFile):
    """One entry of the list of files."""

    has_section: bool
    notes: int


def _listed(changes: Changes, notes: list[Note], query: str) -> list[Listed]:
    by_path = _by_path(notes)
    found = []
    for index, change in enumerate(changes.files[:LISTED]):
        if query.lower() in change.path.lower():
            found.append(Listed(change, index < SECTIONS, len(by_path.get(change.path, ()))))
    return found


def _by_path(notes: list[Note]) -> dict[str, list[Note]]:
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.path, []).append(note)
    return found


def _loose(notes: list[Note], changes: Changes) -> list[Note]:
    """Return the remarks on the whole, and those on files that do not differ."""
    changed = {each.path for each in changes.files} | {each.old_path for each in changes.files}
    return [note for note in notes if not note.path or note.path not in changed]


def _reverted(put_back: list[remarks.Reverted], changes: Changes) -> list[remarks.Reverted]:
    """Return the files that a human put back whole and that do not differ since."""
    changed = {each.path for each in changes.files}
    latest: dict[str, remarks.Reverted] = {}
    for each in put_back:
        latest.setdefault(each.path, each)
    return [each for path, each in latest.items() if path not in changed and each.to == 0]


def _undo(run: Run, put_back: list[remarks.Reverted]) -> remarks.Reverted | None:
    """Return the last revert while it is the last thing that happened to the files."""
    last = put_back[0] if put_back else None
    return last if last and last.snapshot == run.snapshot and run.state in REVERTIBLE else None


def _options(chain: list[Snapshot], writers: dict[int, Writer]) -> list[tuple[int, str]]:
    shown = [each for each in chain if each.number == 0 or each.number in writers]
    return [(each.number, writers[each.number].title if each.number else "Baseline") for each in shown]


def _bar(request: HttpRequest, run: Run, proof: proof_shown.Shown, has_commands: bool) -> Bar:
    sentence = refusal(request.user, Role.REVIEWER)
    if not sentence and run.is_held:
        sentence = "The agents are at work. You can decide when they are done."
    elif not sentence and run.state is not Status.AWAITING_HUMAN:
        sentence = f"The run is “{run.state.label}”; only one that waits for you can be decided on."
    empty = "" if run.changed_files else "No file differs from the baseline: there is nothing to commit."
    against = review.AGAINST.get(proof.state, "") if has_commands and not (sentence or empty) else ""
    return Bar(sentence, sentence or empty, against)


_ALTHOUGH = {State.RED: "the proof is red", State.UNPROVEN: "nothing is proven"}
