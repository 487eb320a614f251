"""What read_file shows of files that are not lines of text: pictures, PDFs and notebooks."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import BinaryIO, Literal

from pydantic import BaseModel

from agents.tools.base import Fact, Output, Result, ToolContext
from workspaces import encodings, names, notebooks, outputs, paths, pdfs, pictures, reads
from workspaces.paths import WorkspaceError
from workspaces.ranges import text_hash

CELLS = 500
"""Of a notebook, in a card."""
BLIND = "This model can't look at pictures."


class Picture(BaseModel):
    """A picture as it is, whether the model got it (scaled or not), and a small PNG of it as a data URI, or ""."""

    media_type: str
    width: int
    height: int
    bytes: int
    frames: int = 1
    sent: bool
    sent_width: int = 0
    sent_height: int = 0
    thumbnail: str = ""


class Pages(BaseModel):
    """Which pages of a PDF were shown, written "1-5", and how many there are."""

    shown: str
    total: int


class Cell(BaseModel):
    index: int
    id: str
    type: str
    lines: int
    outputs: int


class Cells(BaseModel):
    """A notebook's cells, the first of them where there are very many, and how many there are."""

    cells: list[Cell]
    total: int
    pictures: int = 0


class ReadFileOutput(Output):
    """`start`, `end` and `total` count lines; a `total` of None: the file was not read to its end."""

    path: str
    kind: Literal["text", "image", "pdf", "notebook"] = "text"
    start: int = 0
    end: int = 0
    total: int | None = None
    image: Picture | None = None
    pdf: Pages | None = None
    notebook: Cells | None = None


@dataclass(frozen=True)
class Opened:
    """The file, its stat, whether that can be relied on (windows.settled), and its first bytes."""

    path: paths.WorkspacePath
    file: BinaryIO
    stat: os.stat_result
    settled: bool
    head: bytes

    @cached_property
    def name(self) -> str:
        return names.shown(self.path.relative)

    def fact(self, part: str, fingerprint: str, again: str = "") -> Fact:
        """Return what a result is evidence of; `again` are the arguments that would renew it."""
        refresh = " ".join(filter(None, ["read_file", self.name, again]))
        return Fact("read_file", self.name, part, fingerprint, refresh=refresh)


# --- pictures ------------------------------------------------------------------------------------


def picture(ctx: ToolContext, opened: Opened, format: str) -> Result:
    """Return a picture for a model that sees, else what can be said of it. Raises WorkspaceError, apart.GivenUp."""
    given, size = opened.path.given, opened.stat.st_size
    sha = _digest(opened) if size <= pictures.LIMIT_BYTES else ""
    fact = opened.fact("picture", sha)
    if again := _unchanged(ctx, opened, "picture", sha):
        data = ReadFileOutput(path=opened.name, kind="image", fact=fact).dump()
        return Result(f"{given}: the picture is {again}", data)
    found = pictures.look(opened.file, size, format, given, ctx.cancelled.is_set)
    _note(ctx, opened, "picture", sha)
    card = Picture(
        media_type=f"image/{format.lower()}",
        width=found.width,
        height=found.height,
        bytes=size,
        frames=found.frames,
        sent=ctx.sees_images,
        sent_width=found.sent_width,
        sent_height=found.sent_height,
        thumbnail=found.thumbnail,
    )
    said = f"{given}: {format} picture, {found.width}×{found.height} pixels, {size} bytes."
    content = " ".join([said, *_more_of(found, ctx.sees_images)])
    sent = ((found.media_type, found.data),) if ctx.sees_images else ()
    return Result(content, ReadFileOutput(path=opened.name, kind="image", image=card, fact=fact).dump(), images=sent)


def _more_of(found: pictures.Picture, sees: bool) -> Iterator[str]:
    if not sees:
        yield BLIND
    elif found.is_scaled:
        yield f"It is shown scaled to {found.sent_width}×{found.sent_height} pixels."
    if found.frames > 1:
        yield f"It is an animation of {found.frames} frames" + ("; the first is shown." if sees else ".")


def _digest(opened: Opened) -> str:
    opened.file.seek(0)
    return hashlib.file_digest(opened.file, "sha256").hexdigest()  # type: ignore[arg-type]


def _unchanged(ctx: ToolContext, opened: Opened, view: str, sha: str) -> str:
    step = ctx.reads.shown_at(opened.path, view, sha)
    return f"unchanged since your read at step {step}; that result still holds." if step is not None else ""


def _note(ctx: ToolContext, opened: Opened, view: str, sha: str) -> None:
    file = reads.ReadFile(None, encoding="binary", settled=opened.settled)
    ctx.reads.note_whole(opened.path, opened.stat, view, sha, ctx.step, file)


# --- PDFs ----------------------------------------------------------------------------------------


def pdf(ctx: ToolContext, opened: Opened, asked: str) -> Result:
    """Return the text of a PDF's pages. Raises WorkspaceError, apart.GivenUp."""
    given, size = opened.path.given, opened.stat.st_size
    wanted = pdfs.spans(asked) if asked.strip() else None
    view = f"pages {pdfs.written(wanted)}" if wanted else "pages"
    sha = _digest(opened) if size <= pdfs.LIMIT_BYTES else ""
    if again := _unchanged(ctx, opened, view, sha):
        fact = opened.fact(view, sha, view if wanted else "")
        return Result(f"{given}: {view} {again}", ReadFileOutput(path=opened.name, kind="pdf", fact=fact).dump())
    found = pdfs.read(opened.file, size, wanted, ctx.limits.read_chars, given, ctx.cancelled.is_set)
    _note(ctx, opened, view, sha)
    numbers = [number for number, _ in found.texts]
    shown = pdfs.of_numbers(numbers)
    left = _left_out(wanted or ((1, found.total),), numbers, found.total)
    rows = [f"[{given}: PDF, {found.total} pages]"]
    for number, text in found.texts:
        rows += ["", f"[page {number} of {found.total}]", _page(text, ctx.limits.read_chars)]
    if left:
        rows += ["", f"[the pages {left} did not fit; go on with pages {left}]"]
    fact = opened.fact(f"pages {shown}", sha, f"pages {shown}")
    card = ReadFileOutput(path=opened.name, kind="pdf", pdf=Pages(shown=shown, total=found.total), fact=fact)
    return Result("\n".join(rows), card.dump(), truncated=bool(left))


def _page(text: str | None, chars: int) -> str:
    if text is None:
        return "(the text of this page can't be read)"
    return outputs.head_and_tail(text.strip(), chars) or "(no text on this page; it may be a picture)"


def _left_out(wanted: pdfs.Spans, shown: list[int], total: int) -> str:
    """Return which of the pages that were asked for did not fit, "" for none."""
    last = shown[-1] if shown else 0
    return pdfs.written([(max(a, last + 1), min(b, total)) for a, b in wanted if min(b, total) > last])


# --- notebooks -----------------------------------------------------------------------------------


def notebook(ctx: ToolContext, opened: Opened) -> Result:
    """Return a notebook by cell; it counts as read whole.

    Raises WorkspaceError, notebooks.NoNotebook, apart.GivenUp.
    """
    given, name = opened.path.given, opened.name
    decoded = encodings.decode(os.pread(opened.file.fileno(), opened.stat.st_size, 0), given)
    text, sha = decoded.text, text_hash(decoded.text)
    fact = opened.fact("cells", sha)
    if again := _unchanged(ctx, opened, "cells", sha):
        return Result(f"{given}: the cells are {again}", ReadFileOutput(path=name, kind="notebook", fact=fact).dump())
    found = notebooks.view(text, ctx.limits.read_chars, notebooks.PICTURES if ctx.sees_images else 0)
    total = text.count("\n") + 1
    if not found.fits:
        raise WorkspaceError(
            "TOO_LARGE",
            f"{given} has {len(found.cells)} cells ({total} lines of JSON), too much for one read. Ask for a part of "
            "its lines with offset and limit, or find the place with search_in_files.",
        )
    file = reads.ReadFile(text, decoded.encoding, decoded.newline, total, opened.settled)
    ctx.reads.note_whole(opened.path, opened.stat, "cells", sha, ctx.step, file)
    images, faults = _shown_pictures(ctx, found)
    listed = [Cell(**asdict(cell)) for cell in found.cells[:CELLS]]
    card = ReadFileOutput(
        path=name,
        kind="notebook",
        notebook=Cells(cells=listed, total=len(found.cells), pictures=len(images)),
        fact=fact,
    )
    return Result("\n".join([found.text, *faults]), card.dump(), images=tuple(images))


def _shown_pictures(ctx: ToolContext, found: notebooks.View) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the pictures of the outputs as they are sent, and a sentence for each that can't be shown."""
    images: list[tuple[str, str]] = []
    faults: list[str] = []
    for number, data in enumerate(found.pictures, 1):
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            try:
                kind = pictures.kind(data[: pictures.HEAD_BYTES]) or "PNG"  # what is none of them is called broken
                look = pictures.look(file, len(data), kind, f"picture {number}", ctx.cancelled.is_set)
                images.append((look.media_type, look.data))
            except WorkspaceError as error:
                faults.append(f"[{error.message}]")
    return images, faults
