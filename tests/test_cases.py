"""The tool cases: scenes laid out in a folder, calls made through `manage.py toolshell`, results and bytes compared."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(__file__).parent / "cases"
COMMAND = shlex.join([sys.executable, str(ROOT / "manage.py"), "toolshell"])
STEP_S = 60
"""For one call: a slow machine is no reason to fail; what must be quick says so in its case."""
CASE_S = 900


def _ids(name: str) -> list[tuple[str, str]]:
    return [(name, case["id"]) for case in json.loads((CASES / name).read_text(encoding="utf-8"))["cases"]]


FILES = ("cases.json", "more.json", "commands.json")


@pytest.mark.parametrize(("name", "case"), [each for name in FILES for each in _ids(name)], ids=lambda each: str(each))
def test_the_tools_pass_the_case(name: str, case: str, tmp_path: Path) -> None:
    """In a process of its own: the runner of the cases ends everything below it, whatever a case has started."""
    words = [sys.executable, str(CASES / "run.py"), str(CASES / name), "--only", case, "--json"]
    env = os.environ | {"SAKURA_SECRET_KEY": "k" * 50, "SAKURA_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [*words, "--timeout", str(STEP_S), "--command", COMMAND],
        cwd=ROOT,
        env=env,
        capture_output=True,
        timeout=CASE_S,
        text=True,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(results) == 1, done.stdout + done.stderr
    if results[0]["status"] == "skipped":
        pytest.skip("; ".join(results[0]["reasons"]))
    assert results[0]["reasons"] == [], results[0]["why"]
