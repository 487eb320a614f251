"""Who parses hostile bytes can do nothing but read them, think and answer."""

import json
import os
import re
import site
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workspaces.sandbox.test_seccomp import HEADERS
from tests.workspaces.standins import attempts
from workspaces import apart
from workspaces.apart import calls
from workspaces.sandbox import seccomp

STANDINS = Path(__file__).parent / "standins"


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "FOLDERS", (*apart.FOLDERS, STANDINS))


@pytest.fixture
def args(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What the stand-in needs: a folder that anybody may write into, and a server that listens."""
    (tmp_path / "kept").touch()
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"scratch": str(tmp_path), "port": server.getsockname()[1]}


def parse(args: dict[str, Any], tmp_path: Path, **more: Any) -> dict[str, Any]:
    (tmp_path / "file").write_text("what is parsed")
    with (tmp_path / "file").open("rb") as file:
        return apart.parse("attempts", file, args, **more)


def unwalled(name: str, args: dict[str, Any]) -> str:
    """What becomes of the attempt in a process without the wall."""
    code = "import json, sys, attempts; attempts.load(); args = json.loads(sys.argv[1]); "
    code += "print(json.dumps(attempts.parse(sys.stdin.buffer, args)))"
    command = [sys.executable, "-c", code, json.dumps(args | {"try": [name]})]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=STANDINS)
    return str(json.loads(done.stdout)["tried"][name])


@pytest.mark.parametrize("name", attempts.ATTEMPTS)
def test_a_parser_that_was_taken_over_is_refused_by_the_kernel(name: str, args: dict[str, Any], tmp_path: Path) -> None:
    found = parse(args | {"try": [name]}, tmp_path)
    assert found["tried"][name] in ("EPERM", "can't start new thread", "not allowed to raise maximum limit")
    assert found["read"] == "what is parsed"
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "written").exists()
    assert unwalled(name, args) == "done", "the attempt works where nothing stops it"


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_those_of_the_kernels_headers(column: int) -> None:
    if not HEADERS[column].exists():
        pytest.skip("no kernel headers here")
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", HEADERS[column].read_text(), re.MULTILINE))
    assert {name: int(known[name]) for name in calls.ALLOWED} == {
        name: both[column] for name, both in calls.ALLOWED.items()
    }


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_there_is_a_filter_for_both_machines(machine: str) -> None:
    program = seccomp.only(calls.ALLOWED, machine)
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096


def test_where_no_filter_is_known_nothing_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> bytes:
        raise seccomp.UnknownMachine("There is no system call filter for sparc.")

    monkeypatch.setattr(calls, "program", unknown)
    with pytest.raises(apart.Failed, match="safely on this server: There is no system call filter"):
        parse({"try": []}, tmp_path)


def test_a_filter_that_the_kernel_refuses_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "program", lambda: b"\xff" * 8)
    with pytest.raises(apart.Failed, match="the kernel refuses to filter"):
        parse({"try": []}, tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_as_root_it_becomes_somebody_who_owns_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "ALLOWED", calls.ALLOWED | {"getuid": (102, 174)})
    monkeypatch.setattr(calls, "program", lambda: seccomp.only(calls.ALLOWED))
    assert parse({"try": [], "who": True}, tmp_path)["uid"] == apart.NOBODY


HEAVY = {"dataclasses", "django", "importlib.resources", "inspect", "site", "workspaces"}


def test_a_reader_of_sources_is_there_in_no_time() -> None:
    code = "import sys, child, testsource; testsource.load(); print(*sys.modules)"
    path = f"import sys; sys.path = [*{list(map(str, apart.FOLDERS))}, *sys.path, *{site.getsitepackages()}]"
    start = [sys.executable, "-I", "-S", "-c", f"{path}; {code}"]
    loaded = set(subprocess.run(start, capture_output=True, check=True, text=True).stdout.split())
    assert "tree_sitter" in loaded
    assert not loaded & HEAVY
