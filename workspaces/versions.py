"""The texts of files at several snapshots, read from the run store in one go."""

from collections.abc import Iterable, Mapping

from workspaces import store
from workspaces.encodings import is_binary
from workspaces.git import Git

LIMIT_BYTES = 400_000
"""A larger file has no text here."""
LIMIT_TOTAL = 48 * 1024 * 1024
"""Bytes of all texts together; files past it have no text either."""

Key = tuple[int, bytes]
"""A snapshot's number and a path."""


class Versions:
    """Files at snapshots. What was not loaded, is no text, or is too large is None; what did not exist is ""."""

    def __init__(self, git: Git, trees: Mapping[int, str]) -> None:
        self._git, self._trees = git, trees
        self._texts: dict[Key, str | None] = {}
        self._total = 0

    def load(self, keys: Iterable[Key]) -> None:
        """Read these files. Two or three processes, however many there are."""
        # A path with a newline can't be asked for on a line of its own.
        wanted = [
            key
            for key in dict.fromkeys(keys)
            if key not in self._texts and key[0] in self._trees and b"\n" not in key[1]
        ]
        found = self._find(wanted)
        oids = {oid: size for oid, size in found.values() if oid and size <= LIMIT_BYTES}
        texts = dict(_decoded(self._git, self._within_total(oids)))
        for key in wanted:
            oid, _ = found.get(key, ("", 0))
            self._texts[key] = texts.get(oid) if oid else ""

    def text(self, number: int, path: bytes) -> str | None:
        return self._texts.get((number, path))

    def _find(self, keys: list[Key]) -> dict[Key, tuple[str, int]]:
        """Return object and size of each file that exists."""
        if not keys:
            return {}
        names = b"".join(b"%s:%s\n" % (self._trees[number].encode(), path) for number, path in keys)
        out = self._git.run("cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)", input=names)
        parts = (line.split() for line in out.split(b"\n"))
        rows = zip(keys, parts, strict=False)
        return {key: (row[1].decode(), int(row[2])) for key, row in rows if len(row) == 3 and row[0] == b"blob"}

    def _within_total(self, sizes: Mapping[str, int]) -> list[str]:
        kept = []
        for oid, size in sizes.items():
            self._total += size
            if self._total <= LIMIT_TOTAL:
                kept.append(oid)
        return kept


def _decoded(git: Git, oids: Iterable[str]) -> Iterable[tuple[str, str]]:
    for oid, data in store.read_blobs(git, oids):
        if not is_binary(data):
            yield oid, data.decode("utf-8", "replace")
