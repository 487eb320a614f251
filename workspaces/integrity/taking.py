"""Where a file of tests takes what it tests from, when that is another file now."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from workspaces.integrity.described import Described
from workspaces.integrity.findings import FindingKind
from workspaces.integrity.marks import Change

IMPORTS_LIMIT = 1000
_ENDINGS = re.compile(r"(?:/(?:__init__|index|mod))?\.(?:py|[cm]?[jt]sx?|rs|rb|java|go)\Z")


class Source(Protocol):
    """A file on both sides, as comparing.File."""

    path: str
    old_path: str
    old: Described | None
    new: Described | None


def changes(file: Source, files: Sequence[Source]) -> Iterator[tuple[str, Change]]:
    """Yield the names that a file takes from a file that is new, though what it took them from still has them."""
    assert file.old is not None
    assert file.new is not None
    before = {name: (place, line) for name, place, line in file.old.imports[:IMPORTS_LIMIT]}
    fresh = {_module(each.path): each for each in files if each.old is None and each.new is not None}
    former = {_module(each.old_path or each.path): each for each in files if each.old is not None}
    for name, place, line in file.new.imports[:IMPORTS_LIMIT]:
        was, was_line = before.get(name, (place, 0))
        if was == place or _found(place, file.path, fresh) is None:
            continue
        home = _found(was, file.path, former)
        if home is None or (home.new is not None and name in home.new.ids and not home.old_path):
            why = "This comes from a file that is new, and no more from where it was."
            yield name, Change(FindingKind.RETUNED, why, (was_line, was_line), (line, line))


def _module(path: str) -> str:
    return _ENDINGS.sub("", path)


def _found(place: str, user: str, modules: dict[str, Source]) -> Source | None:
    """Return the file that an import leads to, by its path's end: roots of packages are not known here."""
    if place.startswith("."):
        folder = posixpath.dirname(user)
        if "/" in place or place in (".", ".."):
            wanted = {_module(posixpath.normpath(posixpath.join(folder, place)))}
        else:
            up = len(place) - len(place.lstrip("."))
            for _ in range(up - 1):
                folder = posixpath.dirname(folder)
            dotted = place.lstrip(".").replace(".", "/")
            wanted = {posixpath.normpath(posixpath.join(folder, each)) for each in (dotted, posixpath.dirname(dotted))}
        return next((modules[path] for path in wanted if path in modules), None)
    bare = place.replace("::", "/").replace(".", "/").strip("/")
    for end in (bare, posixpath.dirname(bare)):
        for path, source in modules.items():
            if end and (path == end or path.endswith(f"/{end}")):
                return source
    return None
