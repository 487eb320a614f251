"""Reports and output are written by the code under test: whatever they hold, reading them ends soon and is bounded."""

import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workspaces.proving import naming, reading, reports
from workspaces.proving.adapting import ANY, REPORTS, Adapted
from workspaces.proving.formats import junit
from workspaces.proving.results import TESTS_LIMIT
from workspaces.proving.results import TestState as State

PASSING = b'<testsuite><testcase classname="a" name="one"/></testsuite>'
FOLDER = Path(REPORTS).name
PYTEST = Adapted(f"pytest --junitxml={REPORTS}/1.pytest.xml", "pytest")
JEST = Adapted(f"jest --json --outputFile={REPORTS}/1.jest.json", "jest")
NODE = Adapted(f"node --test --test-reporter-destination={REPORTS}/1.node.tap", "node")
EVERY = Adapted("make test", ANY)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "home" / FOLDER).mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    return tmp_path / "home", tmp_path / "tree"


def _xml(data: bytes) -> list[tuple[str, State]]:
    return junit.read(io.BytesIO(data), 1 << 20).tests


LAUGHS = b'<!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><t><testcase name="&b;"/></t>'
OUTSIDE = b'<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><t><testcase name="one">&x;</testcase></t>'
PARAMETERS = b'<!DOCTYPE t [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><t><testcase name="one"/></t>'


@pytest.mark.parametrize(
    "data",
    [
        *(LAUGHS, OUTSIDE, PARAMETERS, b"", b"\x00" * 100, b"<" * 10_000, b"no xml", b"\xff\xfe<"),
        b'<?xml version="1.0" encoding="rot13"?><t><testcase name="one"/></t>',
        b'<?xml version="1.0" encoding="utf-7"?><t><testcase name="one"/></t>',
        b"<a>" * 100_000 + b'<testcase name="one"/>',
        b'<t><testcase name="one" name="two"/></t>',
        b'<t><testcase name="&#0;"/></t>',
    ],
)
def test_xml_that_no_tool_writes_tells_no_tests(data: bytes) -> None:
    assert _xml(data) == []


def test_xml_in_other_encodings_is_read() -> None:
    text = '<?xml version="1.0" encoding="{}"?><t><testcase classname="é" name="ü"/></t>'
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        assert _xml(text.format(encoding).encode(encoding)) == [("é::ü", State.PASSED)]


def test_xml_that_is_cut_off_tells_the_tests_before() -> None:
    data = b"<t>" + b"".join(b'<testcase name="%d"/>' % number for number in range(50)) + b'<testcase name="x'
    assert len(_xml(data)) == 50


def test_a_name_of_a_megabyte_is_cut_and_stays_another_than_its_neighbour(places: tuple[Path, Path]) -> None:
    long = "x" * 1_000_000
    (places[0] / FOLDER / "1.pytest.xml").write_text(f'<t><testcase name="{long}"/><testcase name="y{long}"/></t>')
    _, tests, _ = reading.read(PYTEST, b"", *places)
    assert len(tests) == 2
    assert max(map(len, tests)) <= naming.NAME_LIMIT


def test_json_bombs_are_parsed_elsewhere_and_tell_nothing(places: tuple[Path, Path]) -> None:
    bombs = [
        b"[" * 1_000_000,
        b'{"a":' * 500_000,
        b"[" + b"[]," * 10_000_000 + b"[]]",
        b"9" * 1_000_000,
        b'{"testResults": 7}',
        b'{"testResults": [7, {"assertionResults": [null, {"title": 3, "ancestorTitles": [[]]}]}]',
        b'"\\ud800"',
    ]
    for bomb in bombs:
        (places[0] / FOLDER / "1.jest.json").write_bytes(bomb)
        began = time.monotonic()
        assert reading.read(JEST, b"", *places)[1] == {}
        assert time.monotonic() - began < 30


def test_odd_letters_in_names_become_plain_text(places: tuple[Path, Path]) -> None:
    names = ["a\x00b", "a\ud800b", "a\udc80b", "a\x1b[31mred\x1b[0m", "a\nb\tc", "a\u202eb", "0x7f0012345678 x", ""]
    suite = {"name": "f", "assertionResults": [{"title": name, "status": "passed"} for name in names]}
    (places[0] / FOLDER / "1.jest.json").write_text(json.dumps({"testResults": [suite]}))
    _, tests, _ = reading.read(JEST, b"", *places)
    expected = [*("a\\x00b", "a\\ud800b", "a\\x80b", "ared", "a b c", "a\\u202eb", "… x", "")]
    assert set(tests) == {f"f::{name}" for name in expected}
    json.dumps(tests, ensure_ascii=False).encode()


def _link(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_bytes(PASSING)
    path.symlink_to(secret)


def _folder_link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / path.name).write_bytes(PASSING)
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(PASSING)
        file.truncate(1 << 30)


@pytest.mark.parametrize("make", [_link, _folder_link, _huge, os.mkfifo, Path.mkdir])
def test_only_a_regular_file_of_a_fair_size_is_a_report(
    places: tuple[Path, Path], make: Callable[[Path], object]
) -> None:
    path = places[0] / FOLDER / "1.pytest.xml"
    path.write_bytes(PASSING)
    assert reading.read(PYTEST, b"", *places)[1] == {"a::one": "passed"}
    path.unlink()
    make(path)
    assert reading.read(PYTEST, b"", *places)[1] == {}


def test_reports_that_nobody_was_told_to_write_are_not_read(places: tuple[Path, Path]) -> None:
    (places[0] / FOLDER / "2.pytest.xml").write_bytes(PASSING)
    assert reading.read(PYTEST, b"", *places)[1] == {}


def test_a_walk_of_the_tree_follows_no_link_and_ends(places: tuple[Path, Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "surefire-reports"
    outside.mkdir(parents=True)
    (outside / "TEST-a.xml").write_bytes(PASSING)
    (places[1] / "target").symlink_to(outside.parent)
    (places[1] / "TEST-link.xml").symlink_to(outside / "TEST-a.xml")
    os.mkfifo(places[1] / "TEST-pipe.xml")
    deep = places[1].joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "TEST-deep.xml").write_bytes(PASSING)
    (places[1] / os.fsdecode(b"TEST-\xff.xml")).write_bytes(PASSING)
    assert reports.in_tree(places[1], 0) == [b"TEST-\xff.xml"]
    assert reading.read(EVERY, b"", *places)[:2] == ("junit", {"a::one": "passed"})


def test_more_tests_than_are_kept_are_cut_and_said_to_be(places: tuple[Path, Path]) -> None:
    cases = "".join(f'<testcase name="t{number}"/>' for number in range(TESTS_LIMIT + 1))
    (places[0] / FOLDER / "1.pytest.xml").write_text(f"<t>{cases}</t>")
    _, tests, is_cut = reading.read(PYTEST, b"", *places)
    assert (len(tests), is_cut) == (TESTS_LIMIT, True)


SLOW = [
    b"x" * 8_000_000,
    b"\r" * 4_000_000,
    b"\x1b[" * 2_000_000,
    b"\n" * 1_000_000,
    b"test " + b"a ... " * 600_000,
    b"a::" + b" PASSED" * 500_000,
    (b"1/1 Test #1: " + b"a ." * 1300 + b"\n") * 500,
    (b"test_a (b) " + b" ... " * 790 + b"\n") * 500,
    b"ok 1 - " * 500_000,
    b'{"Action":' * 300_000,
    (b"1 " + b"a, 1 " * 790 + b"in\n") * 500,
    (b"  " * 1900 + b"x\n") * 500,
    b"".join(b" " * (number % 1000) + b"group\n" for number in range(5000)),
]


@pytest.mark.parametrize("output", SLOW, ids=range(len(SLOW)))
def test_no_output_takes_long_to_read(places: tuple[Path, Path], output: bytes) -> None:
    began = time.thread_time()
    reading.read(EVERY, output, *places)
    assert time.thread_time() - began < reading.READ_SECONDS + 5


PIECES = [
    *("ok 1 - a", "1..2", "# Subtest: x", "  ---", "  ...", "✓ a", "1 pass", "1 passed in 1s", "a::b PASSED", "ok"),
    *("running 1 test", "test a ... ", "test_a (m.T) ... ", "Ran 1 test in 1s"),
    *("=== RUN   T", "--- PASS: T (0.0s)", "ok  \tp\t1s", "FAIL\tp", "{}"),
    *('{"Action":"run","Package":"p","Test":"t"}', '{"Action":"fail","Package":"p"}'),
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=30)))
def test_no_output_breaks_a_reader(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    places = tmp_path_factory.getbasetemp(), tmp_path_factory.getbasetemp() / "no tree"
    _, tests, _ = reading.read(EVERY, "\n".join(lines).encode(errors="replace"), *places)
    assert set(tests.values()) <= {"passed", "failed", "skipped"}
    assert all(0 < len(name) <= naming.NAME_LIMIT + 8 for name in tests)


# --- names ----------------------------------------------------------------------------------------

P, F, S = State.PASSED, State.FAILED, State.SKIPPED


def test_of_two_states_of_one_test_the_worse_counts() -> None:
    assert naming.merged([("a", P), ("a", F), ("b", S), ("b", P)], is_unique=True) == {"a": F, "b": S}


@given(st.permutations([("a", P), ("a", F), ("a", P), ("b", S)]))
def test_tests_of_one_name_are_numbered_the_same_in_any_order(found: list[tuple[str, State]]) -> None:
    assert naming.merged(found, is_unique=False) == {"a": F, "a #2": P, "a #3": P, "b": S}


def test_names_do_not_tell_the_folder_of_a_run() -> None:
    assert naming.cleaned("/data/runs/7/fresh/x/tree/a.js::b", ["/data/runs/7/fresh/x/tree", "/workspace"]) == "a.js::b"
    assert naming.cleaned("/workspace/a.js", ["/t", "/workspace"]) == "a.js"
