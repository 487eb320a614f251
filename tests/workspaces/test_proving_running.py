"""Verify commands on a tree of their own: what they meet, how they end, and what is left."""

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.conftest import git
from tests.workspaces.places import hide, mirrored, prepared, taken
from workspaces import setup, store
from workspaces.models import Workspace
from workspaces.proving import adapting, running
from workspaces.proving.results import CommandResult
from workspaces.sandbox import Ending

pytestmark = pytest.mark.django_db(transaction=True)

TESTS = """\
import unittest


class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1 + 1, 2)

    def test_two(self):
        self.assertEqual(1 + 1, 3)
"""


@pytest.fixture
def place(source: Path) -> Workspace:
    (source / "tests" / "__init__.py").write_text("")
    (source / "tests" / "test_calc.py").write_text(TESTS)
    (source / ".gitignore").write_text("*.log\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Tests")
    return prepared(mirrored(source))


def ran(place: Workspace, *commands: str, tree: str = "", **more: Any) -> list[CommandResult]:
    tree = tree or store.latest(place).tree
    given: dict[str, Any] = {"on_text": lambda text: None, "cancelled": threading.Event(), "environment": None} | more
    return running.run(place, tree, commands, name="proof-1", **given)


def gone(place: Workspace) -> bool:
    return not place.fresh.exists() or not any(place.fresh.iterdir())


def test_tests_are_told_one_by_one_and_the_tree_is_gone_afterwards(place: Workspace) -> None:
    (found,) = ran(place, "python3 -m unittest")
    assert (found.exit_code, found.ending, found.reader) == (1, Ending.EXIT, "unittest")
    assert sorted(name.rpartition(".")[2] for name, state in found.tests.items() if state == "failed") == ["test_two"]
    assert len(found.tests) == 2
    assert "FAILED" in found.output_tail
    assert found.duration_ms > 0
    assert gone(place)


def test_a_command_meets_the_tree_and_nothing_that_a_run_left(place: Workspace) -> None:
    (place.tree / "calc.py").write_text("X = 1\n")
    snapshot = taken(place, "calc.py")
    (place.tree / "seen.log").write_text("ignored\n")
    place.home.mkdir(exist_ok=True)
    (place.home / ".profile").write_text("exit 0\n")
    (found,) = ran(place, "cat calc.py; ls -A . ~; git log --format=%s; exit 7", tree=snapshot.tree)
    assert found.exit_code == 7
    assert "X = 1" in found.output_tail
    assert "Tests" in found.output_tail
    assert "seen.log" not in found.output_tail
    assert ".profile" not in found.output_tail


def test_one_command_finds_what_the_one_before_it_made(place: Workspace) -> None:
    first, second = ran(place, "echo built > made.txt; echo x > ~/kept", "cat made.txt ~/kept")
    assert (first.exit_code, second.exit_code, second.output_tail) == (0, 0, "built\nx\n")
    assert not (place.tree / "made.txt").exists()


def test_reports_of_one_command_are_not_there_for_the_next(place: Workspace) -> None:
    folder = adapting.REPORTS
    spoil = f"touch {folder}/x; rm -rf {folder}; ln -s /workspace {folder}"
    first, second = ran(place, spoil, f"ls -A {folder}; test -d {folder} -a ! -L {folder}")
    assert (first.exit_code, second.exit_code, second.output_tail) == (0, 0, "")
    assert gone(place)


def test_a_long_output_is_kept_whole_and_a_short_one_in_its_tail(place: Workspace) -> None:
    long, short = ran(place, "seq 200000", "printf '\\033[31mred\\033[0m\\n'")
    assert len(long.output_tail) == running.TAIL_CHARS
    assert long.output_tail.endswith("199999\n200000\n")
    assert (place.outputs / long.output_ref).read_text().count("\n") == 200_000
    assert (short.output_tail, short.output_ref) == ("red\n", "")
    assert [each.name for each in place.outputs.iterdir()] == [long.output_ref]


def test_bytes_that_are_no_text_are_shown_all_the_same(place: Workspace) -> None:
    (found,) = ran(place, "printf 'a\\377\\000b'")
    json.dumps(found.output_tail).encode()
    assert found.output_tail[0] == "a"


def test_a_secret_is_masked_in_all_that_is_kept(place: Workspace) -> None:
    (place.tree / "calc.py").write_text("TOKEN = 'a-very-secret-token-17'\n")
    snapshot = taken(place, "calc.py")
    said: list[str] = []
    (found,) = ran(
        place,
        "cat calc.py; seq 20000; cat calc.py",
        tree=snapshot.tree,
        withheld=(("TOKEN", "a-very-secret-token-17"),),
        on_text=said.append,
    )
    whole = (place.outputs / found.output_ref).read_text()
    assert whole.count("[masked TOKEN]") == 2
    assert "a-very-secret" not in whole + found.output_tail + "".join(said)


def test_what_the_policy_hides_is_not_there(place: Workspace) -> None:
    hide(place, ["README.md"])
    (found,) = ran(place, "cat README.md; git status --short; git log -p")
    assert "No such file" in found.output_tail
    assert "Adds numbers" not in found.output_tail


def test_there_is_no_network(place: Workspace) -> None:
    look = "import socket; socket.create_connection(('127.0.0.1', 22), 2)"
    (found,) = ran(place, f'python3 -c "{look}" 2>&1 | tail -1; ls /sys/class/net 2>/dev/null; true')
    assert "refused" in found.output_tail or "unreachable" in found.output_tail


def test_a_cancel_ends_a_command_at_once_and_runs_no_other(place: Workspace) -> None:
    cancelled, said = threading.Event(), []

    def hear(text: str) -> None:
        said.append(text)
        if "begun" in "".join(said).replace("echo begun", ""):
            cancelled.set()

    began = time.monotonic()
    found = ran(place, "echo begun; sleep 60 & setsid sleep 60; wait", "echo two", on_text=hear, cancelled=cancelled)
    assert time.monotonic() - began < 10
    assert [(each.exit_code, each.ending) for each in found] == [(None, Ending.CANCELLED)]
    assert "echo two" not in "".join(said)
    assert gone(place)


def test_time_is_bounded_for_each_command_and_for_all(place: Workspace, settings: Settings) -> None:
    settings.SAKURA_PROOF_TIMEOUT_S = 1
    first, second, third = ran(place, "sleep 60", "sleep 60", "echo three")
    assert [each.ending for each in (first, second, third)] == [Ending.TIMEOUT] * 3
    assert "1 s" in first.why
    assert third.why == running.LEFT
    assert third.output_tail == ""


def test_without_a_sandbox_nothing_runs_and_the_reason_is_told(place: Workspace, settings: Settings) -> None:
    settings.SAKURA_BWRAP = "/nowhere/bwrap"
    found = ran(place, "echo one", "echo two")
    assert [(each.ending, each.exit_code) for each in found] == [(Ending.UNAVAILABLE, None)]
    assert found[0].why
    assert gone(place)


def test_without_a_wall_reports_lie_where_home_is(place: Workspace, settings: Settings) -> None:
    settings.SAKURA_SANDBOX = "off"
    (found,) = ran(place, f"touch {adapting.REPORTS}/x 2>/dev/null; ls ~/.sakura-proof; python3 -m unittest")
    assert (found.exit_code, len(found.tests)) == (1, 2)
    assert adapting.REPORTS not in found.ran_as
    assert gone(place)


def test_what_set_up_made_is_there_and_a_write_to_it_is_lost(place: Workspace) -> None:
    place.repository.setup = [
        "mkdir -p .venv/bin; printf '#!/bin/sh\\necho judged\\n' > .venv/bin/judge; chmod +x .venv/bin/*"
    ]
    place.repository.save()
    made = setup.ensure(place, lambda text: None, threading.Event())
    spoiled, fresh = (
        ran(place, command, environment=made)[0]
        for command in ("judge && echo 'echo forged' > .venv/bin/judge; judge", "judge")
    )
    assert "judged" in spoiled.output_tail
    assert fresh.output_tail == "judged\n"
    assert gone(place)


def test_a_tree_that_shuts_its_folders_is_removed_all_the_same(place: Workspace) -> None:
    ran(place, "mkdir -p deep/er; touch deep/er/x; chmod 000 deep/er deep; chmod 500 .; ln -s / root")
    assert gone(place)
    assert os.path.isdir("/usr")


def test_a_fault_leaves_no_tree(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(command: str, scripts: Any) -> Any:
        raise KeyError(command)

    monkeypatch.setattr(adapting, "adapted", broken)
    with pytest.raises(KeyError):
        ran(place, "true")
    assert gone(place)


@pytest.mark.parametrize(
    ("manifest", "scripts"),
    [
        ('{"scripts": {"test": "jest", "odd": 7}}', {"test": "jest"}),
        ('{"scripts": ["jest"]}', {}),
        ("[]", {}),
        ("{", {}),
        ("[" * 100_000, {}),
        ('{"scripts": {"test": "' + "x" * (1 << 20) + '"}}', {}),
        ("\ud800".encode("utf-8", "surrogatepass"), {}),
    ],
)
def test_scripts_are_those_of_the_baseline(source: Path, manifest: str | bytes, scripts: dict[str, str]) -> None:
    data = manifest if isinstance(manifest, bytes) else manifest.encode()
    (source / "package.json").write_bytes(data)
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "Scripts")
    place = prepared(mirrored(source))
    (place.tree / "package.json").write_text('{"scripts": {"test": "true"}}')
    taken(place, "package.json")
    assert running.scripts(place) == scripts


def test_a_link_for_a_manifest_has_no_scripts(source: Path) -> None:
    shutil.copy(source / "README.md", source / "other.json")
    (source / "package.json").symlink_to("other.json")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "A link")
    assert running.scripts(prepared(mirrored(source))) == {}


OVERWRITES = {
    "write": "open('tests/test_calc.py', 'w').write('')",
    "write-and-undo": "p = 'tests/test_calc.py'; t = open(p).read(); open(p, 'w').write(''); open(p, 'w').write(t)",
    "undo-with-its-time": "import os, shutil; shutil.copystat('tests/test_calc.py', '.gitignore'); "
    "open('tests/test_calc.py', 'a').write(' '); shutil.copystat('.gitignore', 'tests/test_calc.py')",
    "replace": "import os; open('x', 'w').close(); os.replace('x', 'tests/test_calc.py')",
    "remove": "import os; os.unlink('tests/test_calc.py')",
    "folder": "import os; os.rename('tests', 't'); os.mkdir('tests')",
    "link": "import os; os.rename('tests', 't'); os.symlink('t', 'tests')",
}


@pytest.mark.parametrize("trick", OVERWRITES)
def test_code_that_writes_over_tests_while_they_run_is_told(place: Workspace, trick: str) -> None:
    (found,) = ran(place, f'python3 -c "{OVERWRITES[trick]}"')
    assert found.exit_code == 0, found.output_tail
    assert "tests/test_calc.py" in found.written


def test_what_tests_make_beside_themselves_is_no_writing_over_them(place: Workspace) -> None:
    (found,) = ran(place, "python3 -m unittest; cat tests/*.py > tests/more.txt; touch new calc.py")
    assert found.written == []
