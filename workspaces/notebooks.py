"""Notebooks as a model reads them: cell by cell, with what they put out, bounded."""

import base64
import binascii
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nbformat

from workspaces import cuts, outputs, terminal
from workspaces.cells import source_of

LIMIT_BYTES = 16 << 20
"""A larger one is read as the text that it is; parsed, a hostile one would fill the memory."""
PICTURES = 4
"""So many pictures of outputs go to the model at once."""
PICTURE_CHARS = 6 << 20
"""Of base64, for all of them."""
_OUTPUT_CHARS = (4000, 800, 0)
"""Of one output: the most that lets the whole notebook be shown."""
_OUTPUTS = 30
_RAW_CHARS = 200_000
_PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_from_dict: Callable[[Any], Any] = nbformat.from_dict  # nbformat leaves both untyped
_convert: Callable[[Any, int], Any] = nbformat.convert
_FAULTS = (AttributeError, LookupError, TypeError, ValueError, RecursionError, nbformat.ValidationError)


class NoNotebook(Exception):
    """The text is no notebook; the words say why."""


@dataclass(frozen=True)
class Cell:
    """One cell in a list of them: the number of its lines, and of its outputs."""

    index: int
    id: str
    type: str
    lines: int
    outputs: int


@dataclass
class _Pictures:
    """Pictures of outputs that are to be shown, as base64; `room` is how many characters are left."""

    left: int
    room: int = PICTURE_CHARS
    taken: list[str] = field(default_factory=list)

    def take(self, data: str) -> bool:
        if not self.left or len(data) > self.room:
            return False
        self.left, self.room = self.left - 1, self.room - len(data)
        self.taken.append(data)
        return True


@dataclass(frozen=True)
class View:
    """A notebook as text, its cells, and the bytes of the pictures that the text numbers from 1."""

    text: str
    cells: tuple[Cell, ...]
    pictures: tuple[bytes, ...]
    fits: bool


def view(text: str, chars: int, pictures: int = PICTURES) -> View:
    """Return the notebook in at most so many characters; long outputs are cut first, sources never.

    Where the sources alone are too long, `fits` is false. Raises NoNotebook.
    """
    book = _parsed(text)
    try:
        written, kept = _fitted(book, chars, pictures)
    except RecursionError:
        raise NoNotebook("something in it is nested too deep") from None
    found = tuple(_listed(index, cell) for index, cell in enumerate(book["cells"]))
    return View(written, found, tuple(base64.b64decode(data) for data in kept.taken), len(written) <= chars)


def _fitted(book: Mapping[str, Any], chars: int, pictures: int) -> tuple[str, _Pictures]:
    """Return the text with outputs as long as they can be."""
    for most in _OUTPUT_CHARS:
        kept = _Pictures(pictures)
        written = "\n".join(_rows(book, most, kept))
        if len(written) <= chars:
            break
    return written, kept


def _parsed(text: str) -> dict[str, Any]:
    """Return the notebook as one of version 4."""
    try:
        book = json.loads(text)
        if isinstance(book, dict) and book.get("nbformat") in (1, 2, 3):
            book = _convert(_from_dict(book), 4)
    except _FAULTS as error:
        raise NoNotebook(f"{type(error).__name__}: {cuts.head(str(error), 200)}") from None
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise NoNotebook("it has no list of cells")
    if not all(isinstance(cell, dict) for cell in book["cells"]):
        raise NoNotebook("one of its cells is none")
    return book


def _listed(index: int, cell: Mapping[str, Any]) -> Cell:
    source = source_of(cell) or ""
    return Cell(
        index, _word(cell.get("id")), _word(cell.get("cell_type")), len(source.splitlines()), len(_outputs(cell))
    )


def _word(value: Any) -> str:
    return cuts.head(str(value), 80) if value is not None else ""


def _outputs(cell: Mapping[str, Any]) -> Sequence[Any]:
    found = cell.get("outputs")
    return found if isinstance(found, list) else ()


# --- as text -------------------------------------------------------------------------------------


def _rows(book: Mapping[str, Any], most: int, pictures: _Pictures) -> Iterator[str]:
    cells = book["cells"]
    version = f"nbformat {_word(book.get('nbformat'))}.{_word(book.get('nbformat_minor'))}"
    language = _word(_at(book, "metadata", "language_info", "name") or _at(book, "metadata", "kernelspec", "name"))
    about = ", ".join(filter(None, [f"{len(cells)} cell{'' if len(cells) == 1 else 's'}", version, language]))
    yield f"[notebook: {about}]"
    for index, cell in enumerate(cells):
        yield ""
        yield _title(index, cell)
        yield from [source] if (source := source_of(cell)) else []
        yield from _output_rows(_outputs(cell), most, pictures)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _title(index: int, cell: Mapping[str, Any]) -> str:
    said = [f"cell {index}", _word(cell.get("cell_type")) or "of no type"]
    if cell.get("id") is not None:
        said.append(f"id {_word(cell['id'])}")
    if cell.get("execution_count") is not None:
        said.append(f"run {_word(cell['execution_count'])}")
    if isinstance(attached := cell.get("attachments"), dict) and attached:
        said.append("attached: " + ", ".join(map(_word, itertools.islice(attached, 10))))
    return f"[{' · '.join(said)}]"


def _output_rows(found: Sequence[Any], most: int, pictures: _Pictures) -> Iterator[str]:
    for output in found[:_OUTPUTS]:
        yield from _output(output, most, pictures) if isinstance(output, dict) else ["[output: none]"]
    if len(found) > _OUTPUTS:
        yield f"[… {len(found) - _OUTPUTS} more outputs left out]"


def _output(output: Mapping[str, Any], most: int, pictures: _Pictures) -> Iterator[str]:
    kind = output.get("output_type")
    match kind:
        case "stream":
            yield from _told(f"output: {_word(output.get('name')) or 'stream'}", _text(output.get("text")), most)
        case "error":
            said = f"{_word(output.get('ename'))}: {cuts.head(str(output.get('evalue', '')), 500)}"
            trace = output.get("traceback")
            lines = "\n".join(map(str, trace)) if isinstance(trace, list) else ""
            yield from _told(f"output: error {terminal.plain(said)}", lines, most)
        case _:
            yield from _rich(output.get("data"), most, pictures)


def _rich(data: Any, most: int, pictures: _Pictures) -> Iterator[str]:
    """Yield the rows of a display or a result: its picture or its plain text; other forms are only named."""
    bundle = data if isinstance(data, dict) else {}
    shown = next((kind for kind in _PICTURE_TYPES if kind in bundle), "")
    if shown:
        yield f"[output: {_picture(shown, _text(bundle[shown]), pictures)}]"
    others = [f"{_word(kind)}, {len(_text(body))} characters" for kind, body in bundle.items() if kind != shown]
    if "text/plain" in bundle:
        others = [other for other in others if not other.startswith("text/plain,")]
        yield from _told("output", _text(bundle["text/plain"]), most)
    if others:
        yield f"[output also as: {'; '.join(others[:8])}]"


def _picture(kind: str, data: str, pictures: _Pictures) -> str:
    try:
        size = len(base64.b64decode(data, validate=False))
    except (binascii.Error, ValueError):
        return f"{kind}, broken"
    number = f", shown as picture {len(pictures.taken)}" if pictures.take(data) else ", not shown"
    return f"{kind}, {size} bytes{number}"


def _told(title: str, text: str, most: int) -> Iterator[str]:
    if len(text) > _RAW_CHARS:
        text = cuts.head(text, _RAW_CHARS // 2) + cuts.tail(text, _RAW_CHARS // 2)
    text = terminal.plain(text).rstrip("\n")
    if not text:
        yield f"[{title}]"
    elif not most:
        yield f"[{title}; {len(text)} characters, left out]"
    else:
        yield f"[{title}]"
        yield outputs.head_and_tail(text, most, "the file's lines, by offset and limit, show them")


def _text(value: Any) -> str:
    """Return a text of a notebook, which may be a list of lines, or JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return "" if value is None else json.dumps(value)
