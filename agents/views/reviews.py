"""The review page and its posts: the diff, comments, reverts, the verdict, the push."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents import claims
from agents import review as doors
from agents.access import refusal, requires
from agents.control import Refused
from agents.models import Comment, Role, Run, Status, Verdict
from agents.views import remarks
from agents.views.diffs import LIMIT_ROWS, Comparison, between
from agents.views.shown import SIGNS, Note, ShownFile, Sign, Writer, file_id, instead_of_lines
from workspaces import snapshots
from workspaces.diffs import Changes, FileChange
from workspaces.git import GitError
from workspaces.models import Snapshot

SECTIONS = 100
"""Files that the page has a section for; the list beside it has all."""
LISTED = 1000
LINES_AT_ONCE = 3000
"""Changed lines drawn with the page; files past them are loaded on demand."""
PREVIEW_CHARACTERS = 40_000


# --- the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """What can be decided now; `why` says in a sentence why not, `why_not_approve` why at least not that."""

    why: str
    why_not_approve: str


@require_GET
@requires(Role.VIEWER)
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the diff of two snapshots with all that is known about it; `part=1` gives the section of `path` alone."""
    return _page(request, _run(pk))


def _page(request: HttpRequest, run: Run, *, status: int = 200, **said: Any) -> HttpResponse:
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
        "run": run,
        "task": run.task,
        "comparison": comparison,
        "changes": changes,
        "files": files,
        "listed": _listed(changes, about["notes"], request.GET.get("q", "")),
        "reverted_paths": _reverted(about["reverts"], changes),
        "loose_notes": _loose(about["notes"], changes),
        "card": claims.card(run, changes.files, {each.path for each in about["reverts"]})
        if comparison.is_whole
        else None,
        "bar": _bar(request, run),
        "undo": _undo(run, about["reverts"]),
        "next_commands": snapshots.fetch_commands(run.place, run.branch) if run.branch else [],
        "wanted": file_id(wanted) if wanted else "",
        "may_revert": run.state in doors.REVERTIBLE,
        "last_agent_review": run.reviews.filter(by_human=False).last(),
        "open_count": sum(note.is_open for note in about["notes"]),
        "finding_count": sum(note.is_finding and note.round == run.round for note in about["notes"]),
    }
    return render(request, "agents/review.html", context, status=status)


def _compare(request: HttpRequest, run: Run, chain: list[Snapshot]) -> tuple[Comparison, dict[str, Any]]:
    viewer = _user(request)
    latest = chain[-1].number
    start, end = _number(request, "from", 0, latest), _number(request, "to", latest, latest)
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
        "may_revert": run.state in doors.REVERTIBLE,
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
class Listed:
    """One entry of the list of files."""

    change: FileChange
    has_section: bool
    notes: int

    @property
    def id(self) -> str:
        return file_id(self.change.path)

    @property
    def sign(self) -> Sign:
        return SIGNS[self.change.status]

    @property
    def instead_of_lines(self) -> str:
        return instead_of_lines(self.change)

    @property
    def query(self) -> str:
        return urlencode({"path": self.change.path})


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
    return last if last and last.snapshot == run.snapshot and run.state in doors.REVERTIBLE else None


def _options(chain: list[Snapshot], writers: dict[int, Writer]) -> list[tuple[int, str]]:
    shown = [each for each in chain if each.number == 0 or each.number in writers]
    return [(each.number, writers[each.number].title if each.number else "Baseline") for each in shown]


def _bar(request: HttpRequest, run: Run) -> Bar:
    sentence = refusal(request.user, Role.REVIEWER)
    if not sentence and run.is_held:
        sentence = "The agents are at work. You can decide when they are done."
    elif not sentence and run.state is not Status.AWAITING_HUMAN:
        sentence = f"The run is “{run.state.label}”; only one that waits for you can be decided on."
    empty = "" if run.changed_files else "No file differs from the baseline: there is nothing to commit."
    return Bar(sentence, sentence or empty)


# --- comments ------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@requires(Role.REVIEWER)
def comment(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep a comment; by GET the form for it on a page of its own."""
    run = _run(pk)
    form = {name: _field(request, name) for name in ("path", "line", "side", "body")}
    form["side"] = form["side"] or Comment.Side.NEW
    if request.method == "GET":
        return render(request, "agents/review/comment.html", {"run": run, "task": run.task, "form": form})
    try:
        line = _line(form["line"])
        kept = doors.comment(run, _user(request), path=form["path"], line=line, side=form["side"], body=form["body"])
    except Refused as error:
        context = {"run": run, "task": run.task, "form": form, "error": error}
        return render(request, "agents/review/comment.html", context, status=error.status)
    if request.headers.get("X-Requested-With") == "fetch":
        note = next(each for each in remarks.notes(run, _user(request)) if each.pk == kept.pk and not each.is_finding)
        return render(request, "agents/review/_note.html", {"run": run, "note": note}, status=201)
    return _back(run, form["path"])


@require_POST
@requires(Role.REVIEWER)
def comment_delete(request: HttpRequest, pk: int, comment: int) -> HttpResponse:
    """Take back one's own open comment."""
    run = _run(pk)
    try:
        doors.comment_delete(run, _user(request), comment)
    except Refused as error:
        messages.error(request, error.message)
    return _back(run, _field(request, "path"))


# --- reverts -------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@requires(Role.REVIEWER)
def revert(request: HttpRequest, pk: int) -> HttpResponse:
    """Revert a file or hunks of it; by GET show exactly what would come out."""
    run = _run(pk)
    path, hunks = _field(request, "path"), _hunks(request)
    to = _whole_number(_field(request, "to") or "0")
    if not path:
        raise Http404("Name the file to revert.")
    if request.method == "GET":
        return _preview(request, run, path, to, hunks)
    try:
        doors.revert(run, _user(request), path, to=to, hunks=hunks)
    except Refused as error:
        messages.error(request, f"The revert of {path} was not done. {error.message}")
        return _page(request, _run(pk), status=error.status)
    return _back(run, path)


def _preview(request: HttpRequest, run: Run, path: str, to: int, hunks: list[str] | None) -> HttpResponse:
    context: dict[str, Any] = {"run": run, "task": run.task, "path": path, "to": to, "hunks": hunks or []}
    try:
        done = doors.revert(run, _user(request), path, to=to, hunks=hunks, dry_run=True)
    except Refused as error:
        return render(request, "agents/review/revert.html", {**context, "error": error}, status=error.status)
    before, after = _text(done.before), _text(done.after)
    is_text = not (before.is_binary or after.is_binary)
    rows = between(path, before.text, after.text) if is_text else []
    context |= {"after": after, "rows": rows, "sentence": _outcome(path, to, hunks, before, after, done.files)}
    return render(request, "agents/review/revert.html", context)


@dataclass(frozen=True)
class Preview:
    """The bytes of a file as a page can show them."""

    text: str
    size: int
    is_absent: bool = False
    is_binary: bool = False
    is_cut: bool = False


def _outcome(
    path: str, to: int, hunks: list[str] | None, before: Preview, after: Preview, files: list[FileChange]
) -> str:
    """Say in a sentence what the revert makes of the file."""
    back = "the baseline" if to == 0 else f"snapshot {to}"
    if not files:
        return f"{path} is already as it was in {back}; nothing would be written."
    if after.is_absent:
        return f"{path} goes away: it was not there in {back}."
    if before.is_absent:
        return f"{path} comes back as it was in {back}."
    if hunks:
        return f"These lines of {path} go back to {back}; the rest of the file stays."
    moved = next((each.path for each in files if each.status in ("renamed", "added") and each.path != path), "")
    name = f" under its old name {moved}" if moved else ""
    return f"{path} becomes byte for byte what it was in {back}{name}."


def _text(data: bytes | None) -> Preview:
    if data is None:
        return Preview("", 0, is_absent=True)
    if b"\0" in data[:8000]:
        return Preview("", len(data), is_binary=True)
    text = data[: PREVIEW_CHARACTERS * 4].decode("utf-8", "replace")
    return Preview(text[:PREVIEW_CHARACTERS], len(data), is_cut=len(text) > PREVIEW_CHARACTERS)


# --- the verdict, and what comes after it --------------------------------------------------------


@require_POST
@requires(Role.REVIEWER)
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve, reject or request changes; what was written is kept when that is refused."""
    run = _run(pk)
    summary, verdict = _field(request, "summary"), _field(request, "verdict")
    seen = _field(request, "seen")
    try:
        doors.decide(run, _user(request), verdict, summary, seen=_whole_number(seen) if seen else None)
    except Refused as error:
        return _page(request, _run(pk), status=error.status, decision_error=error, summary=summary)
    messages.success(request, _DONE[Verdict(verdict)])
    return _back(run)


_DONE = {
    Verdict.APPROVE: "Approved: the result is one commit on a branch of its own. Below is how to take it over.",
    Verdict.REQUEST_CHANGES: "Changes requested: the agents start the next round.",
    Verdict.REJECT: "Rejected: nothing is kept but this record.",
}


@require_POST
@requires(Role.REVIEWER)
def push(request: HttpRequest, pk: int) -> HttpResponse:
    """Push the approved branch to the source as a new branch."""
    run = _run(pk)
    try:
        branch, commit = doors.push(run, _user(request))
    except Refused as error:
        messages.error(request, f"The branch was not pushed. {error.message}")
    else:
        messages.success(request, f"Pushed {branch} ({commit[:10]}) to the source as a new branch.")
    return _back(run)


@require_GET
@requires(Role.VIEWER)
def patch(request: HttpRequest, pk: int) -> HttpResponse:
    """Download the changes as a patch that `git apply` takes."""
    run = _run(pk)
    latest = run.snapshot
    start, end = _number(request, "from", 0, latest), _number(request, "to", latest, latest)
    try:
        data = snapshots.patch(run.place, start, end)
    except GitError as error:
        raise Http404(f"There is no patch of snapshots {start} to {end}: {error}") from error
    response = HttpResponse(data, content_type="text/x-patch; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="sakura-{run.task_id}-run{run.number}.patch"'
    return response


# --- shared --------------------------------------------------------------------------------------


def _run(pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("task__repository", "workspace__repository"), pk=pk)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def _back(run: Run, path: str = "") -> HttpResponse:
    anchor = f"#{file_id(path)}" if path else ""
    return redirect(reverse("review", args=[run.pk]) + anchor)


def _field(request: HttpRequest, name: str) -> str:
    source = request.POST if request.method == "POST" else request.GET
    return source.get(name, "")


def _hunks(request: HttpRequest) -> list[str] | None:
    source = request.POST if request.method == "POST" else request.GET
    return source.getlist("hunk") or None


def _number(request: HttpRequest, name: str, default: int, latest: int) -> int:
    number = _whole_number(request.GET.get(name) or str(default))
    if number > latest:
        raise Http404(f"There is no snapshot {number}; the latest is {latest}.")
    return number


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Http404(f"“{text[:40]}” is no number of a snapshot.")
    return int(text)


def _line(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 2**31):
        raise Refused("INVALID", f"“{text[:40]}” is no line number.", 422)
    return int(text)
