"""What check_changes and detect_project show."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from agents import codelines, told
from agents.bodies.parts import BLOCKS, WORDS, names_of
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
    """Return the files that differ, and their diffs where the model got them."""
    files = [_file(call, each) for each in call.rows("files")]
    more = max(0, (call.count("total") or 0) - len(files))
    return {"files": files, "more": more, "diffs": _diffs(call), "cut": call.data.get("truncated") is True}


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


class Command(NamedTuple):
    """A command that was found, and the file that says so."""

    kind: str
    command: str
    file: str
    url: str
    because: str


_KINDS = {"setup": "set up", "test": "test", "lint": "lint", "types": "type-check", "build": "build"}


def detected(call: Told) -> dict[str, Any]:
    """Return languages, and for each project its commands with the files that say so."""
    languages = [(told.text(each.get("name")), told.count(each.get("files"))) for each in call.rows("languages")]
    projects = [_project(call, each) for each in call.rows("projects")[:BLOCKS]]
    ci = [
        Command(told.text(each.get("job")), told.text(each.get("command")), file, call.file_url(file), "")
        for each in call.rows("ci")[:WORDS]
        if (file := told.text(each.get("file")))
    ]
    unreadable = [(told.text(each.get("path")), told.text(each.get("why"))) for each in call.rows("unreadable")[:WORDS]]
    return {
        "languages": languages[:WORDS],
        "projects": projects,
        "ci": ci,
        "more_ci": call.more("ci", WORDS),
        "more": max(0, (call.count("total") or 0) - len(projects)),
        "unreadable": unreadable,
        "left_out": call.count("left_out") or 0,
    }


def _project(call: Told, row: dict[str, Any]) -> dict[str, Any]:
    commands = [
        Command(
            _KINDS.get(kind := told.text(each.get("kind")), kind),
            told.text(each.get("command")),
            file := told.text(each.get("file")),
            call.file_url(file),
            told.text(each.get("because")),
        )
        for each in told.rows(row.get("commands"))[:WORDS]
    ]
    named = [*told.rows(row.get("package_managers")), *told.rows(row.get("frameworks"))][:WORDS]
    tools = [(name, file, call.file_url(file)) for each in named for name, file in [_named(each)]]
    path = told.text(row.get("path"))
    return {
        "path": "" if path in ("", ".") else path,
        "url": call.folder_url(path),
        "commands": commands,
        "tools": tools,
        "manifests": names_of(row.get("manifests")),
        "members": names_of(row.get("members")),
    }


def _named(row: dict[str, Any]) -> tuple[str, str]:
    return told.text(row.get("name")), told.text(row.get("file"))
