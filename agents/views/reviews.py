"""What is done on the review page: its posts, and the pages of their own that they have without a script."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents import reverts
from agents import review as doors
from agents.access import requires
from agents.control import Refused
from agents.models import Comment, Role, Run, Verdict
from agents.views import asked, remarks, review_page
from agents.views.diffs import between
from agents.views.shown import file_id
from workspaces import cuts, snapshots
from workspaces.diffs import FileChange
from workspaces.encodings import is_binary
from workspaces.git import GitError
from workspaces.models import Snapshot

PREVIEW_CHARACTERS = 40_000


@require_GET
@requires(Role.VIEWER)
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the diff of two snapshots with all that is known about it.

    `part=1` gives the section of `path` alone, `part=proof` the card of the proof.
    """
    return review_page.page(request, _run(pk))


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
        kept = doors.comment(
            run, asked.user(request), path=form["path"], line=line, side=form["side"], body=form["body"]
        )
    except Refused as error:
        context = {"run": run, "task": run.task, "form": form, "error": error}
        return render(request, "agents/review/comment.html", context, status=error.status)
    if request.headers.get("X-Requested-With") == "fetch":
        note = next(
            each for each in remarks.notes(run, asked.user(request)) if each.pk == kept.pk and not each.is_finding
        )
        return render(request, "agents/review/_note.html", {"run": run, "note": note}, status=201)
    return _back(run, form["path"])


@require_POST
@requires(Role.REVIEWER)
def comment_delete(request: HttpRequest, pk: int, comment: int) -> HttpResponse:
    """Take back one's own open comment."""
    run = _run(pk)
    try:
        doors.comment_delete(run, asked.user(request), comment)
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
    to = asked.snapshot_number(_field(request, "to") or "0")
    if not path:
        raise Http404("Name the file to revert.")
    if request.method == "GET":
        return _preview(request, run, path, to, hunks)
    try:
        reverts.revert(run, asked.user(request), path, to=to, hunks=hunks)
    except Refused as error:
        messages.error(request, f"The revert of {path} was not done. {error.message}")
        return review_page.page(request, _run(pk), status=error.status)
    return _back(run, path)


def _preview(request: HttpRequest, run: Run, path: str, to: int, hunks: list[str] | None) -> HttpResponse:
    context: dict[str, Any] = {"run": run, "task": run.task, "path": path, "to": to, "hunks": hunks or []}
    try:
        done = reverts.revert(run, asked.user(request), path, to=to, hunks=hunks, dry_run=True)
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
    back = Snapshot.called(to)
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
    if is_binary(data):
        return Preview("", len(data), is_binary=True)
    text = data[: PREVIEW_CHARACTERS * 4 + cuts.reach()].decode("utf-8", "replace")
    return Preview(cuts.head(text, PREVIEW_CHARACTERS), len(data), is_cut=len(text) > PREVIEW_CHARACTERS)


# --- the verdict, and what comes after it --------------------------------------------------------


@require_POST
@requires(Role.REVIEWER)
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve, reject or request changes; what was written is kept when that is refused."""
    run = _run(pk)
    summary, verdict, despite = (_field(request, name) for name in ("summary", "verdict", "despite"))
    seen = asked.snapshot_number(text) if (text := _field(request, "seen")) else None
    try:
        doors.decide(run, asked.user(request), verdict, summary, seen=seen, despite=despite)
    except Refused as error:
        said = {"decision_error": error, "summary": summary, "despite": despite}
        return review_page.page(request, _run(pk), status=error.status, **said)
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
        branch, commit = doors.push(run, asked.user(request))
    except Refused as error:
        if error.code == "PUSHED":
            messages.info(request, error.message)
        else:
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
    start, end = asked.snapshot(request, "from", 0, latest), asked.snapshot(request, "to", latest, latest)
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


def _back(run: Run, path: str = "") -> HttpResponse:
    anchor = f"#{file_id(path)}" if path else ""
    return redirect(reverse("review", args=[run.pk]) + anchor)


def _field(request: HttpRequest, name: str) -> str:
    source = request.POST if request.method == "POST" else request.GET
    return source.get(name, "")


def _hunks(request: HttpRequest) -> list[str] | None:
    source = request.POST if request.method == "POST" else request.GET
    return source.getlist("hunk") or None


def _line(text: str) -> int | None:
    if not text:
        return None
    line = asked.whole_number(text, digits=10)
    if line is None or not 0 < line < 2**31:
        raise Refused("INVALID", f"“{text[:40]}” is no line number.", 422)
    return line
