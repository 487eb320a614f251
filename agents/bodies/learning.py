"""What people wrote for agents: documents, memories and skills."""

from typing import Any, NamedTuple

from agents import told
from agents.bodies.parts import BLOCKS, WORDS, names_of
from agents.told import ROWS, Told


def documents(call: Told) -> dict[str, Any]:
    """Return the overview, or a document's text."""
    documents = [
        (path, call.file_url(path), told.count(each.get("size")), told.text(each.get("heading")))
        for each in call.rows("documents")
        if (path := told.text(each.get("path")))
    ]
    text = call.long_text("text")
    is_markdown = call.text("path").lower().endswith((".md", ".markdown"))
    return {"documents": documents, "more": call.more("documents", ROWS), "text": text, "is_markdown": is_markdown}


class Memory(NamedTuple):
    file: str
    line: int | None
    url: str
    text: str


def memories(call: Told) -> dict[str, Any]:
    """Return the entries of the memory, newest first."""
    found: list[Memory] = []
    room = call.chars
    for row in call.rows("entries")[:BLOCKS]:
        found.append(_memory(call, row, room))
        room -= len(found[-1].text)
        if room <= 0:
            break
    return {
        "head": call.text("head"),
        "memories": found,
        "more": max(0, (call.count("total") or 0) - len(found)),
    }


def _memory(call: Told, row: dict[str, Any], room: int) -> Memory:
    file, line = told.text(row.get("file")), told.count(row.get("line"))
    text = told.text(row.get("text"), room)
    return Memory(file, line, call.file_url(file, line), text)


def skill(call: Told) -> dict[str, Any]:
    """Return where a skill is from, what it narrows, and its text."""
    path, file = call.text("path"), call.text("file")
    narrows = isinstance(call.data.get("tools"), list)
    return {
        "origin": call.text("origin").removesuffix(f", {path}"),
        "skill_path": path,
        "skill_url": call.file_url(path) if path else "",
        "is_file": bool(file),
        "is_markdown": not file or file.lower().endswith(".md"),
        "narrows": narrows,
        "remaining": names_of(call.data.get("remaining")),
        "commands": names_of(call.data.get("commands")),
        "files": names_of(call.data.get("files")),
        "notes": call.texts("notes")[:WORDS],
        "text": call.content.partition("\n\n")[2],
    }
