"""Which tests a verify command ran, and how each ended: from the reports it left, else from what it printed.

All of it is written by the code under test: it is bounded, and believed no further than a name and a state.
"""

import io
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from workspaces import apart, terminal
from workspaces.proving import naming, reports
from workspaces.proving.adapting import ANY, REPORTS, Adapted
from workspaces.proving.formats import go_text, junit
from workspaces.proving.formats.found import FOUND_LIMIT, Found, Kept, Lines
from workspaces.proving.formats.go_text import GoLines
from workspaces.proving.formats.other_text import CtestLines, MinitestLines
from workspaces.proving.formats.python_text import PytestLines, UnittestLines
from workspaces.proving.formats.rust_text import CargoLines, NextestLines
from workspaces.proving.formats.spec_text import SpecLines
from workspaces.proving.formats.tap import TapLines
from workspaces.proving.results import TESTS_LIMIT, TestState
from workspaces.sandbox.environment import TREE

LINES_LIMIT = 500_000
LINE_CHARS = 4000
READ_SECONDS = 20.0
"""Of processor time, for what a command printed."""
NAMES_CHARS = 8_000_000
"""Of all names of one command together, as they are stored."""
XML_BYTES = 256 << 20
"""Of all reports of one command together."""

_FOLDER = Path(REPORTS).name
_REPORT = re.compile(rf"{re.escape(_FOLDER)}/([\w-]+\.(pytest|jest|vitest|node|rspec|phpunit)\.(?:xml|json|tap))")
_THEIRS = re.compile(r"--(?:junit-?xml|log-junit|output-junit)[= ]['\"]?([^\s'\";&|]+)")
_BY_TEXT: dict[str, tuple[Callable[[], Lines], ...]] = {
    "pytest": (PytestLines,),
    "unittest": (UnittestLines,),
    "django": (UnittestLines,),
    "go": (GoLines,),
    "cargo": (CargoLines,),
    "nextest": (NextestLines,),
    "jest": (SpecLines,),
    "vitest": (SpecLines,),
    "mocha": (SpecLines,),
    "bun": (SpecLines,),
    "node": (TapLines, SpecLines),
    "minitest": (MinitestLines,),
    "ctest": (CtestLines,),
    "tap": (TapLines,),
}
_GUESSED = ("pytest", "unittest", "go", "cargo", "nextest", "mocha", "tap", "minitest", "ctest")
"""What is looked for where a program may have run tests of any kind."""
_IN_TREE = frozenset({"maven", "gradle", ANY})
_UNIQUE = frozenset({"pytest"})


@dataclass
class _Reading:
    """What was found so far, by reader."""

    roots: Sequence[str]
    tests: dict[str, dict[str, TestState]] = field(default_factory=dict)
    is_cut: bool = False

    def put(self, reader: str, found: Found, *, is_unique: bool) -> None:
        if found:
            self.is_cut |= len(found) >= FOUND_LIMIT
            self.tests[reader] = naming.merged(naming.all_cleaned(found, self.roots), is_unique=is_unique)


def read(
    adapted: Adapted, output: bytes, home: Path, tree: Path, *, since_ns: int = 0
) -> tuple[str, dict[str, str], bool]:
    """Return who could read the results ("" for nobody), the state of each test by name, and whether there are more.

    `output` is what it printed, `home` holds the folder of reports, `since_ns` tells the reports in the tree that it
    wrote from older ones: the time (as of file stamps) when it was started.
    """
    reading = _Reading([str(tree), TREE])
    for reader, found in _from_reports(adapted, home, reading).items():
        reading.put(reader, found, is_unique=reader in _UNIQUE)
    if theirs := _from_tree(adapted, tree, since_ns, reading):
        reading.put("junit", theirs, is_unique=False)
    _from_text(adapted, output, reading)
    return _whole(reading)


def told(adapted: Adapted, output: bytes) -> bytes:
    """Return a part of what a command printed as a person would have seen it without what was added to it."""
    return go_text.told(output) if "go" in adapted.reader.split("+") else output


# --- reports --------------------------------------------------------------------------------------


def _from_reports(adapted: Adapted, home: Path, reading: _Reading) -> dict[str, Found]:
    texts = [adapted.command, *(value for _, value in adapted.env)]
    told = dict.fromkeys(match.groups() for text in texts for match in _REPORT.finditer(text))
    found: dict[str, Found] = {}
    for name, kind in told:
        path = f"{_FOLDER}/{name}".encode()
        with reports.opened(home, path) as file:
            if file is not None:
                kept = _parsed(kind, file, reading)
                reading.is_cut |= kept.is_cut
                found.setdefault(kind, []).extend(kept.tests)
    return found


def _parsed(kind: str, file: BinaryIO, reading: _Reading) -> Kept:
    match kind:
        case "jest" | "vitest" | "rspec":
            return _parsed_json("rspec" if kind == "rspec" else "jest", file)
        case "node":
            kept = Kept()
            lines = TapLines()
            _feed([lines], file, reading)
            kept.extend(lines.found())
            return kept
        case _:
            return junit.read(file, reports.REPORT_BYTES)


def _parsed_json(kind: str, file: BinaryIO) -> Kept:
    kept = Kept()
    try:
        answer = apart.parse("testreport", file, {"kind": kind, "most": FOUND_LIMIT})
    except apart.Failed:
        return kept
    kept.extend((name, TestState(state)) for name, state in answer["tests"])
    kept.is_cut |= answer["is_cut"]
    return kept


def _from_tree(adapted: Adapted, tree: Path, since_ns: int, reading: _Reading) -> Found:
    """Read the JUnit XML that build tools write into the tree, and a report that the command itself names."""
    names = {Path(name).name.encode() for name in _THEIRS.findall(adapted.command) if _FOLDER not in name}
    if not names and not _IN_TREE.intersection(adapted.reader.split("+")):
        return []
    kept, left = Kept(), XML_BYTES
    for path in reports.in_tree(tree, since_ns, names):
        with reports.opened(tree, path) as file:
            if file is not None and left > 0:
                found = junit.read(file, min(left, reports.REPORT_BYTES))
                left -= file.tell()
                kept.extend(found.tests)
                reading.is_cut |= found.is_cut
    reading.is_cut |= left <= 0 or kept.is_cut
    return kept.tests


# --- text -----------------------------------------------------------------------------------------


def _from_text(adapted: Adapted, output: bytes, reading: _Reading) -> None:
    told = adapted.reader.split("+") if adapted.reader else []
    wanted = [reader for reader in told if reader in _BY_TEXT and reader not in reading.tests]
    is_theirs = "junit" in reading.tests
    if ANY in told:
        wanted += [reader for reader in _GUESSED if reader not in wanted and reader not in reading.tests]
    if is_theirs:
        wanted = [reader for reader in wanted if reader != "pytest"]
    by_reader = {reader: [make() for make in _BY_TEXT[reader]] for reader in wanted}
    check = PytestLines() if ANY in told and "pytest" in reading.tests else None
    every: list[Lines] = [lines for group in by_reader.values() for lines in group]
    if not every and check is None:
        return
    _feed([*every, *([check] if check else [])], io.BytesIO(output), reading)
    for reader, group in by_reader.items():
        found, is_unique = next(((found, lines.is_unique) for lines in group if (found := lines.found())), ([], False))
        reading.put(reader, found, is_unique=is_unique)
    if check and check.total > len(reading.tests["pytest"]):
        del reading.tests["pytest"]  # it ran more than once, and each report took the place of the one before
        reading.put("pytest", check.found(), is_unique=True)


def _feed(readers: Sequence[Lines], file: BinaryIO, reading: _Reading) -> None:
    deadline = time.thread_time() + READ_SECONDS
    for number, line in enumerate(_lines(file)):
        if number >= LINES_LIMIT or (number % 256 == 0 and time.thread_time() > deadline):
            reading.is_cut = True
            return
        for lines in readers:
            lines.take(line)


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines as a terminal would show them, the first characters of each."""
    for data in iter(lambda: file.readline(LINE_CHARS * 4), b""):
        line = data.decode("utf-8", "replace")[:LINE_CHARS].rstrip("\r\n")
        yield terminal.plain(line) if "\x1b" in line or "\r" in line or "\b" in line else line


def _whole(reading: _Reading) -> tuple[str, dict[str, str], bool]:
    tests: dict[str, TestState] = {}
    chars = 0
    for found in reading.tests.values():
        for name, state in found.items():
            chars += len(name)
            if len(tests) >= TESTS_LIMIT or chars > NAMES_CHARS:
                return "+".join(reading.tests), _plain(tests), True
            naming.add(tests, name, state)
    return "+".join(reading.tests), _plain(tests), reading.is_cut


def _plain(tests: dict[str, TestState]) -> dict[str, str]:
    return {name: state.value for name, state in tests.items()}
