"""Files of tests as files: deleted, moved to where no tool looks, turned into links, emptied; and tests' data."""

import re
from collections.abc import Iterator

from workspaces import store
from workspaces.integrity import plain
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.matters import Matters
from workspaces.integrity.roles import Role
from workspaces.integrity.settings import cut
from workspaces.integrity.sides import Changed, decoded, name_of, told

COMPARED = frozenset({"py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "rs", "java", "rb"})
"""Endings of code whose tests are compared one by one."""
_OTHER_CODE = frozenset(
    {
        "kt",
        "kts",
        "groovy",
        "scala",
        "php",
        "cs",
        "exs",
        "dart",
        "swift",
        "bats",
        "feature",
        "sh",
        "lua",
        "c",
        "cc",
        "cpp",
    }
)
_CONVENTIONS = (
    re.compile(r"(?:test_.+|.+_test|tests?|conftest)\.py"),
    re.compile(r".+[.\-](?:test|spec|cy|e2e)\.[cm]?[jt]sx?"),
    re.compile(r".+_test\.(?:go|exs|dart|c|cc|cpp)"),
    re.compile(r"(?:.+_(?:spec|test)|test_.+)\.rb"),
    re.compile(r"(?:Test.+|.+(?:Tests?|TestCase|IT|Spec))\.(?:java|kt|groovy|scala|php|cs)"),
)
"""Names that test tools look for."""
_FOLDERS = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__|e2e|cypress)/", re.IGNORECASE)
_PASSED_OVER = re.compile(
    r"(?:^|/)(?:\.[^/]+|_[^/_][^/]*|build|dist|node_modules|venv|vendor|testdata|target|[^/]+\.egg)/"
)
_NO_DATA = re.compile(
    r"(?i)(?:readme|license|changelog|contributing)(?:\.\w+)?|[\w-]*requirements[\w-]*\.(?:txt|in)|\.gitignore|\.gitkeep|py\.typed"
)
"""Names of files among tests that no test reads."""
_SNAPSHOT = re.compile(r"(?:(.*)/)?__snapshots__/([^/]+)\.snap\Z")
_SKIPS = re.compile(
    r"(?i)@(?:ignore|disabled|ignored)\b|marktestskipped|marktestincomplete|\bskip\b|\bpending\b|\bxit\b|assume|@tag"
)


def is_compared(path: str) -> bool:
    """Return whether the file is code whose tests are compared one by one."""
    return _ending(path) in COMPARED


def _ending(path: str) -> str:
    name = name_of(path)
    return name.rpartition(".")[2].lower() if "." in name else ""


def is_collected(path: str) -> bool:
    """Return whether test tools find a file by its name."""
    return any(fits.fullmatch(name_of(path)) for fits in _CONVENTIONS)


def is_moved_out(matters: Matters, old: str, new: str) -> bool:
    """Return whether a file of tests was moved to where no tool looks for it any more."""
    if matters.role(new) is not Role.TEST:
        return True
    if is_collected(old) and not is_collected(new):
        return True
    if _FOLDERS.search(old) and not _FOLDERS.search(new):
        return True
    return bool(_PASSED_OVER.search(new)) and not _PASSED_OVER.search(old)


def file_findings(matters: Matters, change: Changed) -> list[Finding]:
    """Return what happened to a file of tests as a file, whatever is in it; nothing where only its text changed."""
    old, new = change.old, change.new
    if old is None or _NO_DATA.fullmatch(name_of(change.old_path)):
        return []
    path = told(change.old_path)
    if new is None:
        return [
            Finding(FindingKind.REMOVED, path, "A file that tests are made of is deleted.", old=_head(matters, change))
        ]
    if change.is_rename and _loses(matters, change):
        why = f"It is moved to {told(change.path)}, where no test tool looks for it."
        return [Finding(FindingKind.REMOVED, path, why)]
    return _as_file(matters, change)


def _loses(matters: Matters, change: Changed) -> bool:
    snapshot = _SNAPSHOT.match(change.old_path)
    if snapshot:
        test = f"{snapshot[1]}/{snapshot[2]}".removeprefix("None/")
        return test in matters.now.entries
    return is_moved_out(matters, change.old_path, change.path)


def _as_file(matters: Matters, change: Changed) -> list[Finding]:
    assert change.old is not None
    assert change.new is not None
    path = told(change.path)
    if change.old.mode != change.new.mode and store.LINK in (change.old.mode, change.new.mode):
        what = (
            "A link stands in place of the file"
            if change.new.mode == store.LINK
            else "A file stands in place of the link"
        )
        kind = FindingKind.REMOVED if change.new.mode == store.LINK else FindingKind.RETUNED
        return [Finding(kind, path, f"{what} that was there at the baseline.", new=_link(matters, change))]
    if store.SUBMODULE in (change.old.mode, change.new.mode):
        why = "A submodule that tests are made of is at another commit, or is one no more."
        return [Finding(FindingKind.RETUNED, path, why, old=change.old.oid, new=change.new.oid)]
    if change.new.mode == store.LINK:
        return [Finding(FindingKind.RETUNED, path, "The link leads elsewhere.", new=_link(matters, change))]
    if matters.now.size(change.path) == 0 and matters.base.size(change.old_path) > 0:
        return [Finding(FindingKind.REMOVED, path, "The file is empty now.", old=_head(matters, change))]
    if change.old.oid == change.new.oid and (change.old.mode, change.new.mode) == (store.EXECUTABLE, store.FILE):
        return [Finding(FindingKind.SKIPPED, path, "It may not be run as a program any more.")] if _is_run(path) else []
    return []


def _is_run(path: str) -> bool:
    return _ending(path) in ("sh", "bash", "bats", "")


def _link(matters: Matters, change: Changed) -> str:
    if change.new is None or change.new.mode != store.LINK or matters.now.size(change.path) > 4096:
        return ""
    return cut(store.read_blob(matters.now.git, change.new.oid).decode("utf-8", "replace"))


def _head(matters: Matters, change: Changed) -> str:
    data = matters.base.data(change.old_path)
    return "" if data is None or b"\0" in data else cut(decoded(data[:2000]))


# --- what tests compare with, and tests in languages that are not read one by one --------------------


def data_findings(matters: Matters, change: Changed, why: str = "") -> list[Finding]:
    """Return what changed in a file of tests that isn't read test by test: fixtures, snapshots, other languages.

    `why`: what kept a file from being read as code.
    """
    old, new = matters.base.data(change.old_path), matters.now.data(change.path)
    path = told(change.path)
    if _NO_DATA.fullmatch(name_of(path)):
        return []
    if change.old is None:
        is_test = _ending(path) in _OTHER_CODE and is_collected(path)
        return [Finding(FindingKind.ADDED, path, "A new file of tests.")] if is_test else []
    if old is None or new is None or _is_binary(old) or _is_binary(new):
        return [
            Finding(FindingKind.RETUNED, path, "Data that tests use differs; it is no text, or too large to compare.")
        ]
    pieces = plain.pieces(plain.verbatim(decoded(old)), plain.verbatim(decoded(new)))
    if why:
        return plain.findings(path, f"It differs, and can't be read as code: {why}.", pieces, FindingKind.RETUNED)
    only_added = pieces and not any(piece.old for piece in pieces)
    if only_added and _ending(path) == "snap":
        return []
    if only_added and _ending(path) in _OTHER_CODE:
        return list(_additions(path, pieces))
    return plain.findings(path, "Data that tests use or compare with differs.", pieces, FindingKind.RETUNED)


def _additions(path: str, pieces: list[plain.Piece]) -> Iterator[Finding]:
    """Yield findings on lines that were added to tests of a language that isn't read test by test."""
    for piece in pieces:
        if any(_SKIPS.search(row.text[: plain.LINE_LIMIT]) for row in piece.new):
            yield from plain.findings(path, "Lines are added that may skip tests.", [piece], FindingKind.SKIPPED)
        else:
            yield from plain.findings(path, "Lines are added to tests.", [piece], FindingKind.ADDED)


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:8000] or store.stood_in(data) is not None
