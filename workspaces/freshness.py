"""Whether what a reader has seen of a file is still what a snapshot holds."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from workspaces import files, ranges, store
from workspaces.encodings import decode
from workspaces.models import ReadState, Workspace
from workspaces.names import raw
from workspaces.paths import WorkspaceError
from workspaces.ranges import Range, text_hash

LIMIT_BYTES = 2_000_000
"""A larger file is not read again just to say whether it is fresh."""


class Freshness(StrEnum):
    FRESH = "fresh"
    STALE = "stale"
    GONE = "gone"
    UNKNOWN = "unknown"
    """The file is too large, or ignored by git, so that no snapshot holds it."""


def states(workspace: Workspace, number: int, rows: Sequence[ReadState]) -> dict[int, Freshness]:
    """Return the freshness of each row by its id. One query and three processes."""
    git, tree = store.ensure(workspace.repository), store.at(workspace, number).tree
    paths = {raw(row.path) for row in rows}
    known = store.listing(git, tree, *sorted(paths)) if paths else {}
    sizes = store.blob_sizes(git, [known[path].oid for path in paths if path in known])
    small = [oid for oid, size in sizes.items() if size <= LIMIT_BYTES]
    data = dict(store.read_blobs(git, small))
    ignored = set(workspace.baselines.filter(ignored=True).values_list("path", flat=True)[:1000])
    return {row.pk: _state(row, known.get(raw(row.path)), data, row.path in ignored) for row in rows}


def _state(row: ReadState, entry: store.TreeEntry | None, data: Mapping[str, bytes], is_ignored: bool) -> Freshness:
    if entry is None:
        return Freshness.UNKNOWN if is_ignored else Freshness.GONE
    if entry.oid not in data:
        return Freshness.UNKNOWN
    return Freshness.FRESH if _is_true(row, data[entry.oid]) else Freshness.STALE


def _is_true(row: ReadState, data: bytes) -> bool:
    """Return whether what was seen is still there: of a text its lines, of a picture or PDF all bytes."""
    try:
        text = decode(data, row.path).text
    except WorkspaceError:
        return row.whole == files.sha256(data)
    if row.whole:
        return row.whole == text_hash(text)
    seen = [Range(int(part[0]), int(part[1]), str(part[2])) for part in row.ranges]
    return all(text_hash(now) == part.sha for part, now in ranges.sections(seen, text))
