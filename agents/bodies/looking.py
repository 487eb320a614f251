"""What lists and searches show: entries, paths, and matches by file."""

import re
from typing import Any, NamedTuple

from django.utils.safestring import SafeString, mark_safe

from agents import told
from agents.bodies.parts import WORDS
from agents.templatetags import prose
from agents.told import Told


class Entry(NamedTuple):
    name: str
    kind: str
    icon: str
    size: int | None
    url: str


_ENTRY_ICONS = {"folder": "folder", "link": "link"}


def listed(call: Told) -> dict[str, Any]:
    """Return the entries of a folder, each with the page that shows it."""
    folder = call.text("path").strip("/")
    folder = "" if folder == "." else folder
    entries = [_entry(call, folder, each) for each in call.rows("entries")]
    return {"entries": entries, "more": max(0, (call.count("total") or 0) - len(entries))}


def _entry(call: Told, folder: str, row: dict[str, Any]) -> Entry:
    name, kind = told.text(row.get("name")), told.text(row.get("kind"))
    path = f"{folder}/{name}".lstrip("/")
    url = call.folder_url(path) if kind == "folder" else call.file_url(path)
    size = told.count(row.get("size")) if kind == "file" else None
    return Entry(name, kind, _ENTRY_ICONS.get(kind, "file"), size, url)


def globbed(call: Told) -> dict[str, Any]:
    """Return the paths that were found."""
    paths = call.texts("paths")
    more = max(0, (call.count("total") or 0) - len(paths))
    return {"paths": [(path, call.file_url(path)) for path in paths], "more": more, "order": call.text("order")}


class Hit(NamedTuple):
    number: int
    url: str
    html: SafeString


class HitFile(NamedTuple):
    path: str
    url: str
    total: int | None
    hits: list[Hit]


def searched(call: Told) -> dict[str, Any]:
    """Return the files with their matches, each of which opens the file at its line."""
    marks = _marks(call)
    found: dict[str, HitFile] = {}
    rows = call.rows("matches")
    for row in rows:
        path, line = told.text(row.get("path")), told.count(row.get("line"))
        file = found.setdefault(path, HitFile(path, call.file_url(path, line), told.count(row.get("count")), []))
        if line is not None:
            file.hits.append(Hit(line, call.file_url(path, line), _marked(told.text(row.get("text")), marks)))
    files = list(found.values())
    total = call.count("files") if call.text("mode") == "count" else call.count("total")
    first = call.count("first") or 1
    return {"files": files, "more": max(0, (total or 0) - len(rows) - (first - 1)), "skipped": first - 1}


_LITERAL = re.compile(r"(?:[^\\.^$*+?()\[\]{}|]|\\[^\w\s])+")


def _marks(call: Told) -> re.Pattern[str] | None:
    """Return what finds the matches in a line again, where the pattern is plain words: no other is run here."""
    pattern = told.text(call.input.get("pattern"))
    words = [pattern] if call.input.get("fixed_strings") is True else pattern.split("|")
    if call.input.get("fixed_strings") is not True:
        if not all(map(_LITERAL.fullmatch, words)):
            return None
        words = [re.sub(r"\\(.)", r"\1", word) for word in words]
    if not all(words) or len(words) > WORDS:
        return None
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE if call.input.get("case_insensitive") else 0)


def _marked(text: str, marks: re.Pattern[str] | None) -> SafeString:
    if marks is None:
        return prose.visible(text)
    parts, at = [], 0
    for match in marks.finditer(text):
        word = f'<mark class="w">{prose.visible(match[0])}</mark>'
        parts += [prose.visible(text[at : match.start()]), word]
        at = match.end()
    return mark_safe("".join([*parts, prose.visible(text[at:])]))  # noqa: S308 -- each piece went through visible
