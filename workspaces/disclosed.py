"""Secrets that lie in the files of a tree: which changed files hold one that their old version did not."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from workspaces import store
from workspaces.diffs import RawChange, has_blob, raw_changes
from workspaces.git import Git
from workspaces.masking import Mask
from workspaces.names import shown

FILES_LIMIT = 5000
BYTES_LIMIT = 64 * 1024 * 1024
"""Changed files, and bytes of them, that are searched."""


@dataclass(frozen=True)
class Disclosed:
    """Files by path with the names of the secrets in them; `left_out` is how many changed files were not searched."""

    files: dict[str, list[str]] = field(default_factory=dict)
    left_out: int = 0

    def named(self, most: int = 10) -> str:
        """Return the files as a list in a sentence."""
        words = [f"{path} ({', '.join(names)})" for path, names in list(self.files.items())[:most]]
        more = len(self.files) - most
        return ", ".join([*words, *([f"and {more} more"] if more > 0 else [])])


def find(git: Git, old: str, new: str, mask: Mask) -> Disclosed:
    """Search what differs between two trees, paths included. Three or more processes of git; none without secrets."""
    if not mask or old == new:
        return Disclosed()
    changed = [each for each in raw_changes(git, old, new, counted=False) if has_blob(each.new)]
    chosen = _within_limits(git, changed)
    held = _held(git, (each.new.oid for each in chosen), mask)
    suspects = [each for each in chosen if held.get(each.new.oid) or mask.names_in(each.path)]
    before = _held(git, (each.old.oid for each in suspects if has_blob(each.old)), mask)
    files = {}
    for each in suspects:
        now = held.get(each.new.oid, set()) - before.get(each.old.oid, set())
        if each.status in "AR":
            now |= mask.names_in(each.path) - mask.names_in(each.old_path if each.status == "R" else b"")
        if now:
            path = mask.text(shown(each.path))[0]
            files[path] = sorted(now)
    return Disclosed(files, len(changed) - len(chosen))


def _within_limits(git: Git, changed: list[RawChange]) -> list[RawChange]:
    sizes = store.blob_sizes(git, {each.new.oid for each in changed[:FILES_LIMIT]})
    chosen, total = [], 0
    for each in changed[:FILES_LIMIT]:
        size = sizes.get(each.new.oid, 0)
        if total + size <= BYTES_LIMIT:
            chosen.append(each)
            total += size
    return chosen


def _held(git: Git, oids: Iterable[str], mask: Mask) -> dict[str, set[str]]:
    found = ((oid, mask.names_in(data)) for oid, data in store.read_blobs(git, set(oids)))
    return {oid: names for oid, names in found if names}
