"""What read_file shows: numbered lines, a picture, the pages of a PDF, the cells of a notebook."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agents import codelines, told
from agents.bodies.parts import BLOCKS
from agents.codelines import Line
from agents.told import Told


def read(call: Told) -> dict[str, Any]:
    """Return what the kind of the file asks for."""
    path = call.text("path")
    match call.text("kind"):
        case "image":
            return {"picture": _picture(call)}
        case "pdf":
            return {"pages": _pages(call.content)}
        case "notebook":
            return {"cells": _cells(call, path), "more": _more_cells(call)}
        case _:
            return {"lines": codelines.numbered(call.content, path)}


class Picture(NamedTuple):
    """A small PNG as a data URI, "" if there is none, with its own size in pixels; and sentences on the picture."""

    thumbnail: str
    words: list[str]


_THUMBNAIL = re.compile(r"data:image/png;base64,[A-Za-z0-9+/]{1,60000}={0,2}")


def _picture(call: Told) -> Picture | None:
    image = call.part("image")
    width, height = told.count(image.get("width")), told.count(image.get("height"))
    if not width or not height:
        return None
    small = image.get("thumbnail")
    is_small = isinstance(small, str) and _THUMBNAIL.fullmatch(small)
    return Picture(str(small) if is_small else "", list(_on_picture(image, width, height)))


def _on_picture(image: dict[str, Any], width: int, height: int) -> Iterator[str]:
    size, frames = told.count(image.get("bytes")), told.count(image.get("frames"))
    yield f"{width:,} × {height:,} pixels" + (f", {size:,} bytes" if size else "")
    if frames and frames > 1:
        yield f"an animation of {frames:,} frames"
    sent_width, sent_height = told.count(image.get("sent_width")), told.count(image.get("sent_height"))
    if image.get("sent") is False:
        yield "not shown to the model, which can’t look at pictures"
    elif sent_width and sent_height and (sent_width, sent_height) != (width, height):
        yield f"shown to the model scaled to {sent_width:,} × {sent_height:,}"
    elif image.get("sent") is True:
        yield "shown to the model as it is"


class Page(NamedTuple):
    number: int
    text: str


_PAGE = re.compile(r"^\[page (\d{1,7}) of \d{1,7}\]$", re.MULTILINE)


def _pages(content: str) -> list[Page]:
    _, *parts = _PAGE.split(content)
    return [Page(int(number), text.strip("\n")) for number, text in zip(parts[::2], parts[1::2], strict=True)][:BLOCKS]


class Cell(NamedTuple):
    """A notebook's cell as it was read: its source and, as text, what it had put out."""

    number: int
    title: str
    lines: list[Line]
    text: str
    outputs: str


_CELL = re.compile(r"^\[cell (\d{1,7}) · ([^\]\n]{0,300})\]$", re.MULTILINE)
_OUTPUT = re.compile(r"^\[output[^\n]{0,300}\]$", re.MULTILINE)


def _cells(call: Told, path: str) -> list[Cell]:
    """Return the cells, taken apart at their titles as read_file writes them, one after the other."""
    known = {told.count(each.get("index")): each for each in told.rows(call.part("notebook").get("cells"))}
    titles: list[re.Match[str]] = []
    for title in _CELL.finditer(call.content):
        if int(title[1]) > (int(titles[-1][1]) if titles else -1):
            titles.append(title)
    ends = [title.start() for title in titles[1:]] + [len(call.content)]
    return [_cell(title, call.content[title.end() : end], known) for title, end in zip(titles, ends, strict=True)][
        :BLOCKS
    ]


def _cell(title: re.Match[str], text: str, known: dict[int | None, dict[str, Any]]) -> Cell:
    about = known.get(int(title[1]), {})
    kind, count = told.text(about.get("type")), told.count(about.get("lines"))
    rows = text.strip("\n").split("\n")
    mark = _OUTPUT.search(text) if count is None else None
    cut = len(text[: mark.start()].strip("\n").split("\n")) if mark else count if count is not None else len(rows)
    source, outputs = "\n".join(rows[:cut]), "\n".join(rows[cut:]).strip("\n")
    lines = codelines.plain(source, "cell.py") if kind == "code" else []
    return Cell(int(title[1]), title[2], lines, "" if lines else source, outputs)


def _more_cells(call: Told) -> int:
    cells = call.part("notebook")
    return max(0, (told.count(cells.get("total")) or 0) - BLOCKS)
