"""What check_changes shows: the files that differ, and the diffs that the model got."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from agents import codelines, told
from agents.bodies.parts import BLOCKS
from agents.codelines import Line
from agents.told import Told


class ChangedFile(NamedTuple):
    """A row of a comparison; `notes` say what its counts don't."""

    path: str
    url: str
    status: str
    additions: int | None
    deletions: int | None
    notes: list[str]


class FileDiff(NamedTuple):
    path: str
    url: str
    lines: list[Line]


def compared(call: Told) -> dict[str, Any]:
    """Return the files that differ, their diffs where the model got them, and what can't be kept."""
    files = [_file(call, each) for each in call.rows("files")]
    left_out = [(told.text(row.get("path")), told.text(row.get("why"))) for row in call.rows("left_out")]
    return {
        "files": files,
        "more": max(0, (call.count("total") or 0) - len(files)),
        "diffs": _diffs(call),
        "cut": call.data.get("truncated") is True,
        "left_out": left_out,
        "left_out_more": max(0, (call.count("left_out_count") or 0) - len(left_out)),
    }


def _file(call: Told, row: dict[str, Any]) -> ChangedFile:
    path, old, status = (told.text(row.get(key)) for key in ("path", "old_path", "status"))
    is_binary = row.get("binary") is True
    additions, deletions = told.count(row.get("additions")), told.count(row.get("deletions"))
    notes = [f"was {old}"] if old and old != path else []
    return ChangedFile(
        path,
        call.review_url(path),
        status,
        None if is_binary else additions,
        None if is_binary else deletions,
        [*notes, *_on_file(row, status)],
    )


def _on_file(row: dict[str, Any], status: str) -> Iterator[str]:
    if row.get("hidden") is True:
        yield "hidden from agents by the policy"
    if row.get("binary") is True:
        before, after = told.count(row.get("size_old")) or 0, told.count(row.get("size_new")) or 0
        sizes = {"added": f"{after:,} bytes", "deleted": f"{before:,} bytes"}
        kind = "over 50 MB" if row.get("stored") is False else "binary"
        yield f"{kind}, {sizes.get(status) or f'{before:,} → {after:,} bytes'}"
    old_mode, new_mode = told.text(row.get("old_mode")), told.text(row.get("new_mode"))
    if old_mode != new_mode and status not in ("added", "deleted"):
        yield f"mode {old_mode} → {new_mode}"
    if row.get("newly_ignored") is True:
        yield "ignored by a rule that the run added"


def _diffs(call: Told) -> list[FileDiff]:
    """Return the diffs of mode full, taken from what the model was told."""
    if call.text("mode") != "full":
        return []
    _, *parts = f"\n\n{call.content}".split("\n\n--- ")
    found = [part.partition("\n") for part in parts[:BLOCKS]]
    return [FileDiff(path, call.review_url(path), codelines.unified(text)) for path, _, text in found]
