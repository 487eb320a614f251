"""The results as a table, for the screen and for docs/benchmarks.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

HEAD = """\
# Benchmarks

`make bench` measures every tool against the least that could do the same work, in the same run and by turns, and writes
this page; `make bench ARGS="--only NAME"` measures one row and writes nothing. A call is timed inside the process, from
the model's request to the result: the arguments are read, the policy is asked, the tool works, and where the reference
commits a row the read state is committed too. Each row is warmed up first; the numbers are medians, with the 10th and
the 90th percentile. A ratio is that of the two medians.
"""


@dataclass(frozen=True)
class Measured:
    """One row as it came out; texts are ready to be shown. `met` None: it could not be measured."""

    name: str
    what: str
    reference: str
    ours: str
    bare: str
    ratio: str
    goal: str
    met: bool | None
    note: str = ""


def _mark(met: bool | None) -> str:
    return {True: "yes", False: "**no**", None: "not measured"}[met]


def lines(measured: Sequence[Measured]) -> list[str]:
    """Return the table as lines for a terminal."""
    rows = [("row", "Sakura, ms", "reference, ms", "ratio", "goal", "met")]
    rows += [(m.name, m.ours, m.bare, m.ratio, m.goal, _mark(m.met).strip("*")) for m in measured]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def page(measured: Sequence[Measured], facts: dict[str, str]) -> str:
    """Return docs/benchmarks.md."""
    table = ["| what | reference | Sakura, ms | reference, ms | ratio | goal | met |", "|---|---|---|---|---|---|---|"]
    table += [
        f"| {m.what} (`{m.name}`) | {m.reference} | {m.ours} | {m.bare} | {m.ratio} | {m.goal} | {_mark(m.met)} |"
        for m in measured
    ]
    notes = [f"- `{m.name}`: {m.note}" for m in measured if m.note]
    parts = [
        HEAD,
        f"Measured on {date.today().isoformat()}.\n",
        *(f"- {name}: {value}" for name, value in facts.items()),
    ]
    parts += ["", "## Results", "", *table]
    if notes:
        parts += ["", "## Notes", "", *notes]
    return "\n".join(parts) + "\n"
