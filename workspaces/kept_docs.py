"""The `.sakura` folder at a snapshot: its documents, and its memory with the newest entry first."""

from collections.abc import Iterator
from dataclasses import dataclass

from workspaces import sakura_docs, snapshots
from workspaces.encodings import is_binary
from workspaces.models import Workspace
from workspaces.sakura_docs import FOLDER, MEMORY

LIMIT_DEPTH = 4
LIMIT_DOCUMENTS = 300
LIMIT_BYTES = 200_000


@dataclass(frozen=True)
class Document:
    """One file below `.sakura`."""

    path: str
    size: int

    @property
    def name(self) -> str:
        return self.path.removeprefix(f"{FOLDER}/")

    @property
    def is_memory(self) -> bool:
        return self.path.startswith(MEMORY)

    @property
    def is_markdown(self) -> bool:
        return self.path.lower().endswith((".md", ".markdown"))


@dataclass(frozen=True)
class Content:
    """A document's text in the parts to show one after the other; `why_not` says why there are none."""

    document: Document
    parts: tuple[str, ...] = ()
    is_cut: bool = False
    why_not: str = ""


def documents(workspace: Workspace, number: int) -> list[Document]:
    """Return the documents by path, memory last and there the newest name first; [] where there is no `.sakura`."""
    found = list(_walk(workspace, number, FOLDER, LIMIT_DEPTH))[:LIMIT_DOCUMENTS]
    memory = sorted((each for each in found if each.is_memory), key=lambda each: each.path, reverse=True)
    return [*(each for each in found if not each.is_memory), *memory]


def _walk(workspace: Workspace, number: int, folder: str, depth: int) -> Iterator[Document]:
    try:
        entries = snapshots.entries(workspace, number, folder)
    except FileNotFoundError:
        return
    for entry in entries[:LIMIT_DOCUMENTS]:
        if entry.kind == "file":
            yield Document(entry.path, entry.size)
        elif entry.kind == "dir" and depth:
            yield from _walk(workspace, number, entry.path, depth - 1)


def content(workspace: Workspace, number: int, document: Document) -> Content:
    """Return a document's text; that of the memory comes entry by entry, newest first."""
    blob = snapshots.read(workspace, document.path, number, limit_bytes=LIMIT_BYTES)
    if is_binary(blob.data):
        return Content(document, why_not="A binary file; its bytes are not shown.")
    text = blob.data.decode("utf-8", "replace")
    parts = _newest_first(text) if document.is_memory and document.is_markdown else [text]
    return Content(document, tuple(part for part in parts if part.strip()), blob.truncated)


def _newest_first(text: str) -> list[str]:
    """Return the head of a memory file, then its "## " entries: by the dates in them, or last written first."""
    head, entries = sakura_docs.split(text)
    return [head, *(entry.text for entry in sakura_docs.newest_first(entries))]
