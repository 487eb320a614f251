"""`python -m benchmarks [--only NAME …]`: measure, print a table, and write docs/benchmarks.md after a whole run."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import machine, memory, report
from benchmarks.desk import Failed, Place, place
from benchmarks.measure import Times, interleaved
from benchmarks.report import Measured
from benchmarks.rows import ROWS, Row

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
MEMORY_MB = 64
MEMORY_S = 300


def main() -> None:
    """Measure what was asked for and show it."""
    options = _options()
    wanted = [row for row in ROWS if not options.only or row.name in options.only]
    calls = [name for name in memory.CALLS if not options.only or f"memory-{name}" in options.only]
    began = time.monotonic()
    with place() as here:
        facts = machine.facts(here.folder)
        measured = [_measured(row, here) for row in wanted]
    measured += [_memory(name) for name in calls]
    print("\n".join(report.lines(measured)))
    print(f"{sum(m.met is True for m in measured)} of {len(measured)} goals met; {time.monotonic() - began:.0f} s")
    if not options.only:
        PAGE.write_text(report.page(measured, facts), encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")


def _options() -> argparse.Namespace:
    names = [row.name for row in ROWS] + [f"memory-{name}" for name in memory.CALLS]
    parser = argparse.ArgumentParser(prog="make bench", description="Measure the tools against bare references.")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    return parser.parse_args()


def _measured(row: Row, here: Place) -> Measured:
    goal = f"≤ {row.goal:g} ms" if row.goal_ms else f"≤ {row.goal:g}×"
    print(f"{row.name} …", file=sys.stderr, flush=True)
    try:
        ours, bare = interleaved(*row.sides(here), rounds=row.rounds)
    except Failed as error:
        return Measured(row.name, row.what, row.reference, "–", "–", "–", goal, None, str(error)[:300])
    ratio = ours.median / bare.median
    met = (ours.median if row.goal_ms else round(ratio, 2)) <= row.goal
    note = "" if met else row.reason
    return Measured(row.name, row.what, row.reference, _shown(ours), _shown(bare), f"{ratio:.2f}×", goal, met, note)


def _shown(times: Times) -> str:
    digits = 3 if times.median < 10 else 1
    return f"{times.median:.{digits}f} ({times.percentile(10):.{digits}f}–{times.percentile(90):.{digits}f})"


def _memory(name: str) -> Measured:
    """Measure in a new process, whose memory knows of nothing else."""
    print(f"memory-{name} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MEMORY_S,
        check=False,
    )
    what, goal = f"memory: {memory.CALLS[name]}", f"≤ {MEMORY_MB} MB"
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
        return Measured(f"memory-{name}", what, "the process before the call", "–", "–", "–", goal, None, said[0][:300])
    grown = json.loads(done.stdout.splitlines()[-1])["grown_mb"]
    shown = f"+{grown} MB"
    return Measured(f"memory-{name}", what, "the process before the call", shown, "–", "–", goal, grown <= MEMORY_MB)


if __name__ == "__main__":
    main()
