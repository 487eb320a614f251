"""Counts what a snapshot changed and what now differs from the baseline: one git, for the changed paths alone."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from workspaces.diffs import COUNTED, DIFF_S, RECORDS, RENAMES, SAFE, RawChange, following, parse_records
from workspaces.git import Bounds, Git, Running
from workspaces.store import NO_MODE, SUBMODULE, Tree, TreeEntry, blob_sizes, stand_ins

NARROW_PATHS = 100
"""Changed paths up to which git is asked for them alone."""
_PAIR = re.compile(rb"[0-9a-f]{40} [0-9a-f]{40}\n")
_PAIR_BYTES = 82


@dataclass(frozen=True)
class Totals:
    """How many files differ from the baseline (a renamed one is one), and the lines added and removed in them."""

    file_count: int
    additions: int
    deletions: int


@dataclass
class Tally:
    """What differs from the baseline, path by path, kept so that a further change need not count all of it anew.

    `records` is None while that is unknown, or while files came and others went: then a rename may be among them, and
    only git, looking at all of them, tells. `large` are the paths stored as stand-ins, which count no lines; None while
    that is unknown.
    """

    records: dict[bytes, tuple[bool, bool, int, int]] | None = None
    """By path: whether it came, whether it went, lines added, lines removed."""
    totals: Totals | None = None
    tree: str = ""
    """The tree that the totals are of."""
    large: set[bytes] | None = None

    def note_large(self, changes: Collection[bytes], large: Collection[bytes]) -> None:
        """Note which of the changed paths are stored as stand-ins now."""
        if self.large is not None:
            self.large = (self.large - set(changes)) | set(large)

    def find_large(self, git: Git, found: Sequence[RawChange]) -> set[bytes]:
        """Return, of all that differs from the baseline, the paths stored as stand-ins; at most three processes, once.

        A stand-in is one line, so what git counted otherwise needs no look.
        """
        if self.large is None:
            suspects = [each for each in found if each.counts is not None and each.counts[0] == 1]
            oids = stand_ins(git, blob_sizes(git, (each.new.oid for each in suspects if each.new.mode != SUBMODULE)))
            self.large = {each.path for each in suspects if each.new.oid in oids}
        return self.large

    def would_stay_apart(self, changes: Mapping[bytes, TreeEntry | None], baseline: Tree) -> bool:
        """Return whether, after these changes, still nothing can have been renamed."""
        if self.records is None:
            return False
        rest = [each for path, each in self.records.items() if path not in changes]
        came = any(new is not None and path not in baseline for path, new in changes.items())
        went = any(new is None and path in baseline for path, new in changes.items())
        return not ((came or any(each[0] for each in rest)) and (went or any(each[1] for each in rest)))

    def take_in(self, tree: str, found: Sequence[RawChange], changes: Collection[bytes] | None) -> None:
        """Note what differs between a tree and the baseline; `changes`: the only paths asked for; None: all."""
        kept = {} if changes is None or self.records is None else self.records
        for path in changes or ():
            kept.pop(path, None)
        sums = {each.path: (each, *self._lines(each)) for each in found}
        kept |= {
            path: (each.old.mode == NO_MODE, each.new.mode == NO_MODE, a, d) for path, (each, a, d) in sums.items()
        }
        self.tree = tree
        self.totals = Totals(len(kept), sum(each[2] for each in kept.values()), sum(each[3] for each in kept.values()))
        mixed = any(each[0] for each in kept.values()) and any(each[1] for each in kept.values())
        self.records = None if mixed or any(each.status == "R" for each in found) else kept

    def _lines(self, each: RawChange) -> tuple[int, int]:
        return (0, 0) if each.counts is None or each.path in (self.large or ()) else each.counts


@dataclass(frozen=True)
class Counting:
    """A git that counts; it works while its caller does something else. `narrow`: for the named paths alone."""

    running: Running
    narrow: bool

    def results(self) -> list[list[RawChange]]:
        """Return the records of each pair of trees that was asked about."""
        return [parse_records(fields) for fields in split_pairs(self.running.output())]


def split_pairs(out: bytes) -> list[list[bytes]]:
    """Return the fields of each pair in what `git diff-tree --stdin -z` printed: the pair's ids go before its records.

    An id is looked for only where a record begins, so that a path which looks like one can't mislead.
    """
    results: list[list[bytes]] = []
    fields = iter(out.split(b"\0"))
    for each in fields:
        record = each
        while _PAIR.match(record):
            results.append([])
            record = record[_PAIR_BYTES:]
        if record:
            results[-1] += [record, *islice(fields, following(record))]
    return results


@contextmanager
def counting(git: Git, pairs: Sequence[tuple[str, str]], only: Collection[bytes] | None) -> Iterator[Counting]:
    """Start counting between pairs of trees; with `only`, for these paths and what is below them."""
    narrow = only is not None and len(only) <= NARROW_PATHS
    paths = [path.decode(errors="surrogateescape") for path in only or ()] if narrow else []
    asked = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    args = ("diff-tree", "--stdin", *RECORDS, *COUNTED, *RENAMES, *SAFE, "--", *paths)
    with git.started(Bounds(DIFF_S), *args, input=asked) as running:
        yield Counting(running, narrow)
