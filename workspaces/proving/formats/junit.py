"""Reads JUnit XML as it streams by: names and states alone, no entities, little memory whatever it holds."""

from typing import BinaryIO
from xml.parsers import expat

from workspaces.proving.formats.found import Kept
from workspaces.proving.results import TestState

CHUNK_BYTES = 64 * 1024
DEPTH_LIMIT = 100
_BAD = frozenset({"failure", "error"})


class _Refused(Exception):
    """What no report of a test tool has."""


def read(file: BinaryIO, limit_bytes: int) -> Kept:
    """Return the tests of a report, up to where it is broken, cut or odd: what comes after did not run, as it were."""
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = False
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    left = limit_bytes
    try:
        while data := file.read(min(CHUNK_BYTES, left)):
            left -= len(data)
            parser.Parse(data)
        reading.kept.is_cut |= left == 0
    except (_Refused, expat.ExpatError, LookupError, ValueError, TypeError):
        pass  # its encoding may be any word, too
    return reading.kept


def _refuse(*args: object) -> None:
    raise _Refused


class _Reading:
    def __init__(self) -> None:
        self.kept = Kept()
        self._depth = 0
        self._name = ""
        self._state: TestState | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise _Refused
        if tag == "testcase":
            self._name = _name(attributes)
            self._state = TestState.SKIPPED if attributes.get("status") == "disabled" else TestState.PASSED
        elif self._state and tag in _BAD:
            self._state = TestState.FAILED
        elif self._state is TestState.PASSED and tag == "skipped":
            self._state = TestState.SKIPPED

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "testcase" and self._state:
            self.kept.add(self._name, self._state)
            self._state = None


def _name(attributes: dict[str, str]) -> str:
    within, name = attributes.get("classname", ""), attributes.get("name", "")
    return f"{within}::{name}" if within else name
