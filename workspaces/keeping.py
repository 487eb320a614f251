"""Stores what a file of a tree holds: its bytes, or of a large one what stands in for them."""

import hashlib
import os
from collections.abc import Mapping

from workspaces.names import shown
from workspaces.objects import Objects
from workspaces.store import STORED_LIMIT, StoreError, TreeEntry, blob_id, stand_in

STORE_LIMIT = 2 * 1024**3
"""Bytes that one snapshot may add to the store."""
PIECE = 1 << 20
LEAST_PIECE = 4096


class Keeping:
    """Adds to `objects` what is not known already; `large` are the paths stored as stand-ins."""

    def __init__(self, known: Mapping[bytes, TreeEntry], objects: Objects) -> None:
        self._known = known
        self._objects = objects
        self._stored = 0
        self.large: set[bytes] = set()

    def file(self, handle: int, size: int, path: bytes) -> str:
        """Store an open file, and return the object's id. Raises StoreError where one snapshot would store too much."""
        data = _read(handle, size) if size <= STORED_LIMIT else None
        return self.data(data, path) if data is not None else self._large(handle, size, path)

    def data(self, data: bytes, path: bytes) -> str:
        """Store these bytes as what is at the path, and return the object's id. Raises StoreError."""
        oid = blob_id(len(data), (data,))
        if self._is_known(path, oid):
            return oid
        self._stored += len(data)
        if self._stored > STORE_LIMIT:
            raise StoreError(f"One call changed more than {STORE_LIMIT:,} bytes; at {shown(path)} it is too much.")
        return self._objects.add("blob", data)

    def _large(self, handle: int, size: int, path: bytes) -> str:
        git_hash, plain_hash = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False), hashlib.sha256()
        os.lseek(handle, 0, os.SEEK_SET)
        while piece := os.read(handle, PIECE):
            git_hash.update(piece)
            plain_hash.update(piece)
        if self._is_known(path, git_hash.hexdigest()):
            return git_hash.hexdigest()
        self.large.add(path)
        return self.data(stand_in(size, plain_hash.hexdigest()), path)

    def _is_known(self, path: bytes, oid: str) -> bool:
        known = self._known.get(path)
        return known is not None and known.oid == oid


def _read(handle: int, size: int) -> bytes | None:
    """Return the file's bytes, or None when it grew past what is stored while it was read."""
    data = bytearray()
    while piece := os.read(handle, max(LEAST_PIECE, size - len(data) + 1)):
        data += piece
        if len(data) > STORED_LIMIT:
            return None
    return bytes(data)
