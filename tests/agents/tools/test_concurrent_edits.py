"""Fifty edits of one file at once, from threads and from processes: each is applied or says why not, none is lost."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, connections

from agents.providers.base import Call
from agents.tools import runner
from agents.tools.base import RETRYABLE, Result
from tests.agents.tools.bench import Bench
from workspaces.models import Baseline, ReadState

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]
EDITS = 50

WORKER = """
import json, sys
import django
django.setup()
from tests.agents.tools.test_concurrent_edits import EditingBench
from workspaces.models import Workspace

first, last = int(sys.argv[1]), int(sys.argv[2])
bench = EditingBench(Workspace.objects.select_related("repository").get(pk=1))
told = []
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, last):
    for _ in range(3):
        bench.call("read_file", file_path="p.txt")
        arguments = {"file_path": "p.txt", "old_string": f"<{number}>", "new_string": f"done {number};"}
        result = bench.edit_only(arguments)
        if not result.is_error:
            break
    told.append((number, result.code))
bench.reads.save()
print(json.dumps(told))
"""


class EditingBench(Bench):
    """A bench that leaves the snapshots to who looks afterwards: two processes would race for the numbers."""

    def edit_only(self, arguments: dict[str, str]) -> Result:
        self.step += 1
        prepared = runner.prepare(
            Call(f"call_{self.step}", "edit_file", arguments), runner.available(self.agent, "full")
        )
        return runner.execute(prepared, self.context())


@pytest.fixture
def workspace_bench(bench: Bench) -> EditingBench:
    return EditingBench(bench.workspace)


def text_of(marks: int) -> str:
    return "".join(f"line {number}: <{number}> \n" for number in range(marks))


def check(file: Path, applied: set[int], marks: int) -> None:
    """Hold the file against just the edits that said they were done."""
    wanted = [f"line {n}: {f'done {n};' if n in applied else f'<{n}>'} " for n in range(marks)]
    assert file.read_text().splitlines() == wanted
    assert not list(file.parent.glob(".sakura-*"))


def test_of_fifty_edits_by_threads_none_is_lost(workspace_bench: EditingBench) -> None:
    bench = workspace_bench
    file = bench.write("p.txt", text_of(EDITS))
    bench.call("read_file", file_path="p.txt")
    start = threading.Barrier(10)

    def edit(numbers: range) -> list[tuple[int, str]]:
        start.wait()
        told = []
        for number in numbers:
            arguments = {"file_path": "p.txt", "old_string": f"<{number}>", "new_string": f"done {number};"}
            told.append((number, bench.edit_only(arguments).code))
        connections.close_all()
        return told

    with ThreadPoolExecutor(10) as pool:
        told = [each for part in pool.map(edit, [range(n, n + 5) for n in range(0, EDITS, 5)]) for each in part]
    assert len(told) == EDITS
    assert all(code in ("", *RETRYABLE) for _, code in told)
    check(file, {number for number, code in told if not code}, EDITS)
    assert sum(not code for _, code in told) == EDITS  # one read state, so nobody's view is stale
    bench.reads.save()
    assert ReadState.objects.get(path="p.txt").whole
    assert Baseline.objects.get(path="p.txt").kind == Baseline.Kind.ABSENT


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the processes share the database file of the tests")
def test_of_fifty_edits_by_two_processes_none_is_lost(workspace_bench: EditingBench) -> None:
    file = workspace_bench.write("p.txt", text_of(EDITS))
    env = os.environ | {
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "SAKURA_DATA_DIR": str(settings.SAKURA_DATA_DIR),
        "DJANGO_SETTINGS_MODULE": "sakura_web.settings",
    }
    half = EDITS // 2
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(first), str(first + half)],
            cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for first in (0, half)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    told: list[tuple[int, str]] = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        told += [(int(number), str(code)) for number, code in json.loads(out)]
    assert sorted(number for number, _ in told) == list(range(EDITS))
    assert {code for _, code in told} <= {"", "STALE"}
    applied = {number for number, code in told if not code}
    check(file, applied, EDITS)
    assert len(applied) >= half
    assert Baseline.objects.get(path="p.txt").kind == Baseline.Kind.ABSENT
