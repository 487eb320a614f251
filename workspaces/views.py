"""Read-only pages of one workspace: files at any snapshot, what was read, baselines, the .sakura docs and memory."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from workspaces import freshness, highlight, kept_docs, snapshots
from workspaces.encodings import is_binary
from workspaces.models import Snapshot, Workspace
from workspaces.snapshots import Blob

LINES_SHOWN = 5000
CHOICES = 300
"""Snapshots that the selector lists, the latest of them."""
PER_PAGE = 200


# --- files ---------------------------------------------------------------------------------------


@require_GET
def files(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a folder of the workspace at a snapshot; a path that is a file leads to its page."""
    workspace = _workspace(pk)
    path, at = request.GET.get("path", ""), _at(request, workspace)
    if at is None:
        return _page(request, workspace, "files", {"path": path})
    try:
        found = snapshots.entries(workspace, at.number, path)
    except FileNotFoundError:
        query = urlencode({key: request.GET[key] for key in ("path", "at", "line") if key in request.GET})
        return redirect(
            f"{reverse('workspace_file', args=[pk])}?{query}#L{request.GET.get('line', '')}".removesuffix("#L")
        )
    return _page(request, workspace, "files", {"path": path, "at": at, "entries": found, "crumbs": _crumbs(path)})


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one file with line numbers and colours; a binary or a too large one is only named with its size."""
    workspace = _workspace(pk)
    path, at = request.GET.get("path", ""), _at(request, workspace)
    if at is None:
        raise Http404("The workspace was not prepared yet, so there is no file to show.")
    try:
        blob = snapshots.read(workspace, path, at.number)
    except FileNotFoundError:
        context = {"path": path, "at": at, "crumbs": _crumbs(path), "is_absent": True}
        return _page(request, workspace, "file", context, status=404)
    context = {"path": path, "at": at, "crumbs": _crumbs(path), "blob": blob, "shown": _shown(path, blob)}
    return _page(request, workspace, "file", {**context, "line": request.GET.get("line", "")})


@dataclass(frozen=True)
class Shown:
    """What the page shows of a file's bytes: lines, or why not."""

    lines: tuple[SafeString, ...] = ()
    left_out: int = 0
    why_not: str = ""


def _shown(path: str, blob: Blob) -> Shown:
    if not blob.stored:
        return Shown(why_not="Over 50 MB: its size and hash are recorded, its bytes are not.")
    if is_binary(blob.data):
        return Shown(why_not="A binary file; its bytes are not shown.")
    if not blob.data:
        return Shown(why_not="An empty file.")
    text = blob.data.decode("utf-8", "replace")
    lines = highlight.lines(path, text.removesuffix("\n"))
    shown = tuple(highlight.visible(line) for line in lines[:LINES_SHOWN])
    return Shown(shown, max(0, len(lines) - LINES_SHOWN))


def _crumbs(path: str) -> list[tuple[str, str]]:
    """Return (name, path) of each folder on the way, and of the path itself."""
    parts = [part for part in path.split("/") if part]
    return [(name, "/".join(parts[: index + 1])) for index, name in enumerate(parts)]


# --- reads and baselines -------------------------------------------------------------------------


@require_GET
def reads(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what each reader has seen of which file, and whether that is still what the file holds."""
    workspace = _workspace(pk)
    page = Paginator(workspace.reads.order_by("reader", "path"), PER_PAGE).get_page(request.GET.get("page"))
    at = _latest(workspace)
    states = freshness.states(workspace, at.number, list(page)) if at else {}
    rows = [(each, states.get(each.pk)) for each in page]
    return _page(request, workspace, "reads", {"page": page, "rows": rows, "at": at})


@require_GET
def baselines(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what each touched file was when the run started."""
    workspace = _workspace(pk)
    page = Paginator(workspace.baselines.order_by("path"), PER_PAGE).get_page(request.GET.get("page"))
    return _page(request, workspace, "baselines", {"page": page})


# --- .sakura -------------------------------------------------------------------------------------


@require_GET
def sakura(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the .sakura folder at a snapshot: its documents, one of them rendered."""
    workspace = _workspace(pk)
    at = _at(request, workspace)
    path = request.GET.get("path", "")
    context: dict[str, Any] = {"path": path, "at": at}
    if at is not None:
        found = kept_docs.documents(workspace, at.number)
        chosen = next((each for each in found if each.path == path), None) if path else next(iter(found), None)
        if path and chosen is None:
            raise Http404(f"There is no {path} below .sakura at snapshot {at.number}.")
        context |= {"documents": found, "content": kept_docs.content(workspace, at.number, chosen) if chosen else None}
    return _page(request, workspace, "sakura", context)


# --- shared --------------------------------------------------------------------------------------


def _workspace(pk: int) -> Workspace:
    return get_object_or_404(Workspace.objects.select_related("repository", "run__task__repository"), pk=pk)


def _latest(workspace: Workspace) -> Snapshot | None:
    return workspace.snapshots.order_by("-number").first()


def _at(request: HttpRequest, workspace: Workspace) -> Snapshot | None:
    """Return the snapshot of ?at=, the latest without it, None where there is none yet. A number nobody took is 404."""
    wanted = request.GET.get("at", "")
    if not wanted:
        return _latest(workspace)
    if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 10):
        raise Http404(f"“{wanted[:40]}” is no number of a snapshot.")
    return get_object_or_404(workspace.snapshots, number=int(wanted))


def _page(
    request: HttpRequest, workspace: Workspace, name: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    choices = workspace.snapshots.order_by("-number").values_list("number", "step", "call_id")[:CHOICES]
    return render(
        request,
        f"workspaces/{name}.html",
        {"workspace": workspace, "tab": name, "choices": choices, **context},
        status=status,
    )
