"""The page of a run: its transcript and panels, what a poll or a scroll asks for, and the posts that steer it."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST, require_safe

from agents import control, panels, transcript
from agents import events as log
from agents.access import requires
from agents.cards import Card
from agents.control import Refused
from agents.models import Event, Kind, Role, Run
from agents.outputs import Piece, read_output
from agents.views import asked

POLL_EVENTS = 200
OLDER = 100
OUTPUT_BYTES = 1_000_000
"""Bytes of an output that one request gives, unless a script asks for fewer."""


def _run(pk: int) -> Run:
    try:
        return panels.load(pk)
    except Run.DoesNotExist as error:
        raise Http404(f"There is no run {pk}.") from error


# --- reading -----------------------------------------------------------------------------------------------


@require_safe
@requires(Role.VIEWER)
def run(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the run: its last 100 nodes (`?before=seq`: those before it) and its panels."""
    return _page(request, _run(pk))


def _page(request: HttpRequest, run: Run, *, status: int = 200, said: str = "", kept: str = "") -> HttpResponse:
    before = _number(request, "before", 0)
    page = transcript.before(run, before) if before else transcript.latest(run)
    home = reverse("run", args=[run.pk]) if before else ""
    context = {**panels.collect(run), "page": page, "is_tail": not before, "home": home, "said": said, "kept": kept}
    return render(request, "agents/run.html", context, status=status)


@require_GET
@requires(Role.VIEWER)
def events(request: HttpRequest, pk: int) -> JsonResponse:
    """Return what a page lacks: `?before=seq&limit=100` older nodes, `?after=seq` the patches and panels since then."""
    run = _run(pk)
    if before := _number(request, "before", 0):
        page = transcript.before(run, before, min(_number(request, "limit", OLDER), 2 * OLDER) or OLDER)
        return JsonResponse({"first": page.first, "more": page.more, "patches": page.patches})
    after = _number(request, "after", run.last_seq)
    rows = log.after(run.pk, after, POLL_EVENTS)
    last = rows[-1].seq if rows else after
    found: dict[str, Any] = {"first": after + 1, "last": last, "patches": transcript.patches(run, rows)}
    if rows:
        found["panels"] = panels.render(run)
    return JsonResponse({**found, "more": last < run.last_seq})


@require_GET
@requires(Role.VIEWER)
def call(request: HttpRequest, pk: int, seq: int) -> HttpResponse:
    """Return the body of the card of the call at event `seq`: within a page, or alone with `part=1`."""
    run = _run(pk)
    event = Event.objects.filter(run_id=pk, seq=seq, kind=Kind.TOOL_CALL).first()
    if event is None:
        raise Http404(f"Event {seq} of run {pk} is no call.")
    card = _whole_card(event)
    template = "agents/cards/_body.html" if request.GET.get("part") else "agents/call.html"
    return render(request, template, {"run": run, "task": run.task, "card": card})


def _whole_card(call: Event) -> Card:
    rows = list(call.run.events.filter(call_id=call.call_id).exclude(kind=Kind.TOOL_CALL).order_by("seq")[:1000])
    pieces = tuple(row for row in rows if row.kind == Kind.OUTPUT)[-transcript.PIECES :]
    last = {row.kind: row for row in rows}
    return Card(call, last.get(Kind.TOOL_RESULT), last.get(Kind.SNAPSHOT), pieces)


@require_GET
@requires(Role.VIEWER)
def output(request: HttpRequest, pk: int, ref: str) -> HttpResponse:
    """Return an output as plain text, `?offset=&limit=` bytes of it, at most 1 MB a request."""
    run = _run(pk)
    offset, limit = _number(request, "offset", 0), _number(request, "limit", 0)
    try:
        piece = read_output(run.place, ref, offset, min(limit or OUTPUT_BYTES, OUTPUT_BYTES))
    except FileNotFoundError as error:
        raise Http404(f"Run {pk} has no output {ref!r}; it may have been cleared away.") from error
    return _plain(request, piece, offset)


def _plain(request: HttpRequest, piece: Piece, offset: int) -> HttpResponse:
    response = HttpResponse(piece.data, content_type="text/plain; charset=utf-8")
    end = offset + len(piece.data)
    response["X-Output-Size"] = str(piece.size)
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    if end < piece.size:
        response["Link"] = f'<{request.path}?offset={end}>; rel="next"'
        response.write(f"\n… {piece.size - end:,} bytes more: {request.path}?offset={end}\n".encode())
    return response


def _number(request: HttpRequest, name: str, default: int) -> int:
    number = asked.whole_number(request.GET.get(name, ""), digits=11)
    return default if number is None else number


# --- steering ----------------------------------------------------------------------------------------------


@require_POST
@requires(Role.OPERATOR)
def message(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave a message for the running agent. Refused, the page comes back with the text kept."""
    run, text = _run(pk), request.POST.get("text", "")
    try:
        control.steer(run, asked.user(request), text)
    except Refused as refused:
        if not request.accepts("text/html"):
            return _refusal(refused)
        return _page(request, run, status=refused.status, said=refused.message, kept=text)
    return _done(request, run)


def _act(request: HttpRequest, pk: int, verb: Callable[[Run, User | None], None]) -> HttpResponse:
    run = _run(pk)
    try:
        verb(run, asked.user(request))
    except Refused as refused:
        if not request.accepts("text/html"):
            return _refusal(refused)
        messages.error(request, refused.message)
    return _done(request, run)


@require_POST
@requires(Role.OPERATOR)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pause the run."""
    return _act(request, pk, control.pause)


@require_POST
@requires(Role.OPERATOR)
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Let the paused run go on."""
    return _act(request, pk, control.resume)


@require_POST
@requires(Role.OPERATOR)
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """End the run."""
    return _act(request, pk, control.cancel)


@require_POST
@requires(Role.OPERATOR)
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue the failed run again."""
    return _act(request, pk, control.retry)


def _refusal(refused: Refused) -> JsonResponse:
    return JsonResponse({"error": {"code": refused.code, "message": refused.message}}, status=refused.status)


def _done(request: HttpRequest, run: Run) -> HttpResponse:
    """Answer a script with 204; send a reader to where they came from (`next`), else to the run."""
    if not request.accepts("text/html"):
        return HttpResponse(status=204)
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        return redirect(target)
    return redirect("run", pk=run.pk)
