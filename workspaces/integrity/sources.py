"""Tests in sources: which were removed, skipped, loosened or retuned; sources are parsed in other processes."""

import codecs
import re
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workspaces import apart
from workspaces.integrity import comparing
from workspaces.integrity.described import Described, Misshapen, described
from workspaces.integrity.findings import Finding
from workspaces.integrity.roles import Role, role_of

FILE_LIMIT = 1024 * 1024
"""Bytes up to which a source is read."""
FILES_LIMIT = 500
"""Pairs of sources that are compared."""
BATCH_BYTES = 2 * 1024 * 1024
BATCH_FILES = 120
"""Sources that one process reads, one after the other."""
ALONE_LIMIT = 40
"""Sources that are read again, each by itself, after a process that read several came to nothing."""
BATCH_SECONDS = 8.0
"""Of processor time, after which a process begins with no other source."""
SECONDS = 150.0
"""In which all sources are read; what is left then is told."""
BATCH_CAPS = apart.Caps(cpu_seconds=20, seconds=40)
ALONE_CAPS = apart.Caps(cpu_seconds=6, seconds=15)
LANGUAGES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx",
    "go": "go", "rs": "rust", "java": "java", "rb": "ruby",
}  # fmt: skip
_COOKIE = re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_PLAIN_COOKIES = re.compile(r"utf-?8(?:-sig)?|ascii|us-ascii|latin-?1|iso-?8859-\d+|cp125\d", re.IGNORECASE)
_COLLECTED = re.compile(
    r"(?:test_.*|.*_test|tests|conftest)\.py|.*[.\-](?:test|spec)\.[cm]?[jt]sx?|.*_test\.go|.*\.rs"
    r"|(?:Test.*|.*(?:Tests?|TestCase|IT|Spec))\.java|(?:.*_(?:test|spec)|test_.*)\.rb"
)
"""Names of files in which tools look for tests."""


@dataclass(frozen=True)
class Pair:
    """One source as it was and as it is; None: absent on that side. `old_path`: where it was, if elsewhere."""

    path: str
    old: bytes | None
    new: bytes | None
    old_path: str = ""
    is_test: bool | None = None
    """Whether it is a file of tests; None: as its path says."""


@dataclass(frozen=True)
class _Source:
    """One side of a pair, ready to be parsed."""

    pair: int
    side: str
    language: str
    data: bytes


def never() -> bool:
    return False


def compare(pairs: Sequence[Pair], stop: Callable[[], bool] = never) -> tuple[list[Finding], list[tuple[str, str]]]:
    """Return what changed in the tests of these sources, and (path, why) of each that could not be read.

    Sources in languages that are not known say nothing. `stop` is asked while they are parsed.
    """
    unread: dict[str, str] = {}
    sources: list[_Source] = []
    for at, pair in enumerate(pairs):
        language = language_of(pair.path)
        if not language:
            continue
        if at >= FILES_LIMIT:
            unread[pair.path] = f"more than {FILES_LIMIT} sources differ"
            continue
        found = [_source(at, side, language, data) for side, data in (("old", pair.old), ("new", pair.new))]
        why = next((each for each in found if isinstance(each, str)), "")
        if why:
            unread[pair.path] = why
        else:
            sources += [each for each in found if isinstance(each, _Source)]
    told = _Reading(stop).read(sources)
    files = list(_files(pairs, sources, told, unread))
    return comparing.compare(files), list(unread.items())


def language_of(path: str) -> str:
    """Return the language of a source by its name, "" where none is known."""
    name = path.rpartition("/")[2]
    return LANGUAGES.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def _source(pair: int, side: str, language: str, data: bytes | None) -> _Source | str | None:
    """Return one side ready to be parsed; a text says why it can't be."""
    if data is None:
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            return "it is no valid UTF-16"
    if len(data) > FILE_LIMIT:
        return f"it is larger than {FILE_LIMIT // 1024} KB"
    if b"\0" in data:
        return "there are NUL bytes in it"
    data = data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    cookie = _COOKIE.match(data) if language == "python" else None
    if cookie and not _PLAIN_COOKIES.fullmatch(cookie[1].decode("ascii")):
        return f"it says that it is written in {cookie[1].decode('ascii')[:40]}"
    return _Source(pair, side, language, data)


class _Reading:
    """Has sources parsed, many in one process; when one of those comes to nothing, each by itself."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._alone = 0
        self._until = time.monotonic() + SECONDS

    def read(self, sources: Sequence[_Source]) -> dict[_Source, Described | str]:
        """Return what each says; a text says why it can't be read."""
        found: dict[_Source, Described | str] = {}
        distinct = {(source.language, source.data): source for source in sources}
        todo = deque(_batches(list(distinct.values())))
        while todo:
            batch = todo.popleft()
            read = self._batch(batch)
            found |= read
            if left := [source for source in batch if source not in read]:
                todo.appendleft(left)
        return {source: found[distinct[source.language, source.data]] for source in sources}

    def _batch(self, batch: Sequence[_Source]) -> dict[_Source, Described | str]:
        """Read a batch, or the first of it: at least one source."""
        if self._stop() or time.monotonic() > self._until:
            return dict.fromkeys(batch, "there was no time left to look at it")
        try:
            told = self._parse(batch, BATCH_CAPS if len(batch) > 1 else ALONE_CAPS)
            return {source: each for source, each in zip(batch, told, strict=True) if each is not None}
        except apart.GivenUp:
            return dict.fromkeys(batch, "there was no time left to look at it")
        except apart.Failed as error:
            if len(batch) == 1:
                return {batch[0]: str(error)}
        found: dict[_Source, Described | str] = {}
        for source in batch:
            self._alone += 1
            if self._alone > ALONE_LIMIT:
                found[source] = "too many sources beside it could not be read"
            else:
                found |= self._batch([source])
        return found

    def _parse(self, batch: Sequence[_Source], caps: apart.Caps) -> list[Described | str | None]:
        """Have sources parsed; None: it was not begun with. Raises apart.Failed, apart.GivenUp."""
        with tempfile.TemporaryFile() as file:
            for source in batch:
                file.write(source.data)
            file.flush()
            files = [[source.language, len(source.data)] for source in batch]
            args = {"files": files, "seconds": BATCH_SECONDS}
            answer = apart.parse("testsource", file, args, self._stop, caps)
        told = answer.get("files")
        if not isinstance(told, list) or len(told) != len(batch) or told[0] is None:
            raise apart.Failed("it is broken")
        pairs = zip(told, batch, strict=True)
        return [None if each is None else _told(each, source.language) for each, source in pairs]


def _told(each: object, language: str) -> Described | str:
    if isinstance(each, dict) and isinstance(fault := each.get("fault"), str):
        return fault[:200]
    try:
        return described(each, language)
    except Misshapen:
        return "it can't be understood"


def _batches(sources: Sequence[_Source]) -> Iterable[list[_Source]]:
    batch: list[_Source] = []
    size = 0
    for source in sources:
        if batch and (size + len(source.data) > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += len(source.data)
    if batch:
        yield batch


def _files(
    pairs: Sequence[Pair],
    sources: Sequence[_Source],
    told: dict[_Source, Described | str],
    unread: dict[str, str],
) -> Iterable[comparing.File]:
    """Yield the pairs both sides of which could be read; the others are noted."""
    by_pair: dict[int, dict[str, _Source]] = {}
    for source in sources:
        by_pair.setdefault(source.pair, {})[source.side] = source
    for at, sides in by_pair.items():
        pair = pairs[at]
        read = {side: told[source] for side, source in sides.items()}
        why = next((each for each in read.values() if isinstance(each, str)), "")
        if why:
            unread[pair.path] = why
            continue
        old, new = (each if isinstance(each := read.get(side), Described) else None for side in ("old", "new"))
        if new is not None and new.errors and (old is None or not old.errors):
            unread[pair.path] = f"parts of it are no valid {LANGUAGES_SAID[language_of(pair.path)]}"
        lines = [_lines(sides[side].data) if side in sides else () for side in ("old", "new")]
        if pair.old_path and pair.old_path != pair.path:
            yield from _apart(pair, old, new, lines)
        else:
            collected = is_collected(pair.path)
            yield comparing.File(
                pair.path, old, new, lines[0], lines[1], is_test=_is_test(pair), is_collected=collected
            )


def _apart(
    pair: Pair, old: Described | None, new: Described | None, lines: Sequence[Sequence[str]]
) -> Iterable[comparing.File]:
    """Yield a file that was moved: one file still, unless no tool looks for tests where it is now."""
    is_test, was, now = _is_test(pair), is_collected(pair.old_path), is_collected(pair.path)
    if was and not now:
        yield comparing.File(pair.old_path, old, None, lines[0], (), is_test=is_test, is_collected=was)
        yield comparing.File(pair.path, None, new, (), lines[1], is_test=is_test, is_collected=now)
    else:
        yield comparing.File(
            pair.path, old, new, lines[0], lines[1], is_test=is_test, is_collected=now, old_path=pair.old_path
        )


LANGUAGES_SAID = {
    "python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TypeScript",
    "go": "Go", "rust": "Rust", "java": "Java", "ruby": "Ruby",
}  # fmt: skip


def _lines(data: bytes) -> Sequence[str]:
    return data.decode("utf-8", "replace").split("\n")


def _is_test(pair: Pair) -> bool:
    if pair.is_test is not None:
        return pair.is_test
    return Role.TEST in (role_of(pair.path), role_of(pair.old_path or pair.path))


def is_collected(path: str) -> bool:
    """Return whether tools look for tests in a file of this name."""
    name = path.rpartition("/")[2]
    return (
        _COLLECTED.fullmatch(name) is not None
        or re.search(r"(?:^|/)(?:__tests__|tests?|spec)/.*\.[cm]?[jt]sx?\Z", path) is not None
    )
