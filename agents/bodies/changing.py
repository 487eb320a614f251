"""What the tools that write show: the change, and sentences on what it does not show."""

from typing import Any

from agents import codelines, told
from agents.bodies.parts import WORDS
from agents.codelines import Line
from agents.told import Told
from workspaces import linediff

SOURCE_CHARS = 10_000
"""Of a cell whose source is compared here."""


def changed(call: Told) -> dict[str, Any]:
    """Return the diff that the tool tells."""
    rows = call.data.get("diff")
    diff = codelines.diff(rows, call.chars) if isinstance(rows, list) else None
    is_cut = bool(diff and diff.is_cut) or call.data.get("diff_cut") is True
    return {"diff": diff.lines if diff else [], "diff_is_cut": is_cut, "notes": call.texts("notes")[:WORDS]}


def notebook_changed(call: Told) -> dict[str, Any]:
    """Return the change of the cell's source rather than that of the JSON around it."""
    change = cell_change(call)
    if change is None:
        return changed(call)
    diff = codelines.diff(change.rows, call.chars)
    return changed(call) | {"diff": diff.lines, "diff_is_cut": diff.is_cut or change.cut}


def cell_change(call: Told) -> linediff.Change | None:
    """Return how the source of an edited cell changed; None where not all of it is known."""
    before, after = call.data.get("before"), call.data.get("after")
    if call.data.get("cut") is True or not (isinstance(before, str) and isinstance(after, str)):
        return None
    return codelines.difference(before, after) if max(len(before), len(after)) <= SOURCE_CHARS else None


def reverted(call: Told) -> dict[str, Any]:
    """Return the diff, and the paths where it was more than one."""
    files = [(told.text(each.get("path")), told.text(each.get("now"))) for each in call.rows("files")[:WORDS]]
    many = [(path, now, call.file_url(path)) for path, now in files] if len(files) > 1 else []
    return changed(call) | {"others": many, "more": call.more("files", WORDS)}


def wanted(call: Told) -> list[Line]:
    """Return what an edit that failed had wanted, as far as it says."""
    sides = (("-", "old_string"), ("+", "new_string"))
    rows = [[kind, None, None, line] for kind, name in sides for line in _wanted(call.input.get(name))]
    return codelines.diff(rows, call.chars).lines


def _wanted(value: Any) -> list[str]:
    text = told.text(value, 4000)
    return text.split("\n")[:40] if text else []
