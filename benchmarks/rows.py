"""What is measured: each row a tool's call, its bare reference, and the goal."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks import trees
from benchmarks.desk import Confined, Desk, Place, rg, side_by_side
from benchmarks.measure import Side
from workspaces import windows

STATS = 2_000
"""Matches up to which glob looks at the times of files."""


@dataclass(frozen=True)
class Row:
    """One measurement. The goal is a ratio to the reference's median, or milliseconds where `goal_ms` says so.

    `reason`: why the goal can't be met, where that is known.
    """

    name: str
    what: str
    reference: str
    goal: float
    sides: Callable[[Place], tuple[Side, Side]]
    rounds: int = 25
    goal_ms: bool = False
    reason: str = ""


def _durable(place: Place, path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old or the new one, and commit a row: the least a safe write does."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)
    place.commit(path.name)


# --- files ---------------------------------------------------------------------------------------------


def _read_whole(place: Place) -> tuple[Side, Side]:
    desk = place.files
    path = desk.tree / "long.py"

    def reference() -> None:
        with path.open("rb") as file:
            lines = file.read().decode().split("\n")
        "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))

    return Side(lambda: desk.call("read_file", file_path="long.py"), desk.forget), Side(reference)


def _window(offset: int) -> Callable[[Place], tuple[Side, Side]]:
    def sides(place: Place) -> tuple[Side, Side]:
        desk = place.files
        path = desk.tree / "vast.py"

        def anew() -> None:
            """Let the file be one that nobody has looked at, and that nobody writes any more."""
            os.utime(path)
            desk.session.reads.forget(path.name)
            time.sleep(2 * windows.RACY_NS / 1e9)
            desk.forget()
            desk.call("read_file", file_path="long.py")  # awake again, as in the middle of a turn

        def reference() -> None:
            seen = 0
            with path.open("rb", buffering=0) as file:
                while seen < offset and (block := file.read(1 << 20)):
                    seen += block.count(b"\n")

        ours = Side(lambda: desk.call("read_file", file_path="vast.py", offset=offset, limit=200), anew)
        return ours, Side(reference)

    return sides


def _edit(name: str, lines: int) -> Callable[[Place], tuple[Side, Side]]:
    def sides(place: Place) -> tuple[Side, Side]:
        desk = place.files
        path, copy = desk.tree / name, desk.tree / f"copy-of-{name}"
        content = path.read_text()
        old = content.split("\n")[lines // 2]
        copy.write_text(content)
        numbers = count()
        state = {"now": old}
        desk.forget()
        desk.call("read_file", file_path=name, offset=lines // 2 - 5, limit=20)

        def ours() -> None:
            new = f"    edited = {next(numbers)}"
            desk.write("edit_file", file_path=name, old_string=state["now"], new_string=new)
            state["now"] = new

        def reference() -> None:
            data = copy.read_bytes()
            _durable(place, copy, data.replace(old.encode(), f"    edited = {next(numbers)}".encode(), 1))

        return Side(ours), Side(reference, lambda: copy.write_text(content))

    return sides


def _create(place: Place) -> tuple[Side, Side]:
    desk = place.files
    content = trees.text(100, seed=2)
    numbers = count()

    def ours() -> None:
        desk.write("write_file", file_path=f"made{next(numbers)}.py", content=content)

    return Side(ours), Side(lambda: _durable(place, desk.tree / f"bare{next(numbers)}.py", content.encode()))


# --- looking -------------------------------------------------------------------------------------------


def _glob(place: Place) -> tuple[Side, Side]:
    desk = place.ignoring

    def reference() -> None:
        for name in rg(desk.tree, "--files", "-g", "**/*.py").split(b"\n")[:STATS]:
            os.stat(os.path.join(os.fsencode(desk.tree), name))

    return Side(lambda: desk.call("glob", pattern="**/*.py")), Side(reference)


def _search(pattern: str) -> Callable[[Place], tuple[Side, Side]]:
    def sides(place: Place) -> tuple[Side, Side]:
        desk = place.ignoring
        ours = Side(lambda: desk.call("search_in_files", pattern=pattern, output_mode="content"))
        return ours, Side(lambda: rg(desk.tree, "-n", pattern))

    return sides


def _looking(name: str, **arguments: object) -> Callable[[Place], tuple[Side, Side]]:
    def sides(place: Place) -> tuple[Side, Side]:
        desk = place.wide
        return Side(lambda: desk.call(name, **arguments)), Side(lambda: rg(desk.tree, "--files"))

    return sides


# --- commands ------------------------------------------------------------------------------------------


def _command(command: str) -> Callable[[Place], tuple[Side, Side]]:
    def sides(place: Place) -> tuple[Side, Side]:
        desk = place.files
        bare = Confined(desk, command)
        return Side(lambda: desk.call("run_command", command=command)), Side(bare.run, bare.prepare)

    return sides


# --- changes -------------------------------------------------------------------------------------------


def _changes(place: Place) -> tuple[Side, Side]:
    desk = place.changed
    path = desk.tree / "README.md"
    numbers = count()

    def another() -> None:
        path.write_text(f"{next(numbers)}\n")  # so that no answer is one that was given before
        desk.snapshot(f"other{next(numbers)}", None)

    diff = ["diff", "--no-ext-diff", "--no-color", "HEAD"]
    reference = Side(lambda: side_by_side(desk.tree, diff, ["status", "--porcelain=v2"]))
    return Side(lambda: desk.call("check_changes", mode="full"), another), reference


def _first_python(desk: Desk) -> str:
    return min(str(path.relative_to(desk.tree)) for path in (desk.tree / "src").rglob("*.py"))


def _snapshot_of_edit(place: Place) -> tuple[Side, Side]:
    desk = place.usual
    name = _first_python(desk)
    other = f"{name}.again"
    numbers = count()
    lines = [(desk.tree / name).read_text().split("\n")[2]]
    done = [desk.done("read_file", file_path=name)]

    def edit() -> None:
        lines.append(f"    edited = {next(numbers)}")
        done.append(desk.done("edit_file", file_path=name, old_string=lines[-2], new_string=lines[-1]))

    def reference() -> None:
        trees.git(desk.tree, "update-index", "--add", "--", other)
        trees.git(desk.tree, "write-tree")

    ours = Side(lambda: desk.snapshot(done[-1].call_id, done[-1].result.touched), edit)
    return ours, Side(reference, lambda: (desk.tree / other).write_text(f"{next(numbers)}\n"))


def _snapshot_of_nothing(place: Place) -> tuple[Side, Side]:
    desk = place.usual
    numbers = count()
    ours = Side(lambda: desk.snapshot(f"look{next(numbers)}", None))
    return ours, Side(lambda: trees.git(desk.tree, "status", "--porcelain"))


# --- all -----------------------------------------------------------------------------------------------

DURABLE = "temporary file, fsync, rename, fsync of the folder, one SQLite commit"
PYTHON = (
    "Both sides sync and commit the same; what is beyond that is about 1 ms of Python, whatever the file: the policy "
    "is asked, a lock held, the text found and checked, old and new bytes hashed, the read state made into a row, and "
    "the diff for the page made."
)
NEAR = "At the edge of the goal: repeated runs on this machine gave {}."
ROWS = [
    Row(
        "read-2000",
        "read a file of 2,000 lines, numbered",
        "open, read, decode, number in plain Python",
        1.0,
        _read_whole,
        rounds=101,
    ),
    Row(
        "window-middle",
        "200 lines in the middle of 200,000, first look",
        "counting newlines up to there",
        1.2,
        _window(100_000),
        rounds=41,
        reason=NEAR.format("0.94 to 1.28"),
    ),
    Row(
        "window-head",
        "200 lines at the head of 200,000, first look",
        "counting newlines of the first piece",
        0.3,
        _window(1),
        rounds=101,
        goal_ms=True,
        reason=NEAR.format("0.28 to 0.44 ms"),
    ),
    Row(
        "edit-2000",
        "edit one line of 2,000",
        f"read, replace, {DURABLE}",
        1.5,
        _edit("edited.py", 2_000),
        rounds=61,
        reason=PYTHON,
    ),
    Row(
        "edit-5mb",
        "edit one line in 5 MB",
        f"read, replace, {DURABLE}",
        20,
        _edit("large.py", 80_000),
        goal_ms=True,
    ),
    Row("create", "create a file of 100 lines", DURABLE, 1.5, _create, rounds=61, reason=PYTHON),
    Row(
        "glob",
        "glob `**/*.py`, 20,000 files, 16,000 of them ignored",
        "`rg --files -g`, one stat a match",
        1.15,
        _glob,
        rounds=41,
    ),
    Row("search-literal", "search a word, same tree", "`rg -n`", 1.15, _search("_handler_"), rounds=41),
    Row("search-regex", "search a regex, same tree", "`rg -n`", 1.2, _search(r"def \w+_handler_\d+0\("), rounds=41),
    Row("search-nothing", "search what is nowhere, same tree", "`rg -n`", 1.15, _search("no such words"), rounds=41),
    Row("run-true", "`run_command true`", "the same bwrap line by subprocess", 1.2, _command("true"), rounds=61),
    Row(
        "run-10mb",
        "a command that prints 10 MB",
        "the same line, its output read in full",
        1.5,
        _command("yes 0123456789abcdef | head -c 10485760"),
    ),
    Row(
        "changes",
        "check_changes full, 50 changed files of 2,600",
        "`git diff` and `git status`, side by side",
        1.3,
        _changes,
    ),
    Row(
        "detect",
        "detect_project, 20,000 files",
        "`rg --files`",
        1.5,
        _looking("detect_project"),
        reason=NEAR.format("1.37 to 1.55"),
    ),
    Row(
        "list",
        "list_directory recursive, 20,000 files",
        "`rg --files`",
        1.5,
        _looking("list_directory", path=".", recursive=True),
    ),
    Row(
        "snapshot-edit",
        "snapshot after one edit, 2,600 files",
        "`git update-index`, `write-tree`",
        1.5,
        _snapshot_of_edit,
        reason=NEAR.format("1.0 to 1.7, as syncs and the start of two git processes happen to take"),
    ),
    Row(
        "snapshot-nothing",
        "snapshot after a command that changed nothing, 2,600 files",
        "`git status`",
        1.5,
        _snapshot_of_nothing,
        rounds=41,
        reason=NEAR.format("1.1 to 1.6, more in a process that also remembers several large trees"),
    ),
]
