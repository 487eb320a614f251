"""How much memory a call takes, in a process of its own: `python -m benchmarks.memory window|command`, as JSON."""

import json
import sys
from pathlib import Path

from benchmarks import desk, trees

HUGE_BYTES = 2 * 1024**3
PRINTED_BYTES = 1024**3
CALLS = {
    "window": "200 lines in the middle of a file of 2 GB",
    "command": "a command that prints 1 GB",
}


def main(name: str) -> None:
    """Make the call and print by how many MB the process grew at most while it lasted."""
    with desk.place() as place:
        here = place.desk(trees.plain(place.folder / "trees" / "files", small=trees.text(100)))
        here.call("read_file", file_path="small.py")
        here.call("run_command", command="echo warm")
        if name == "window":
            lines = trees.huge(here.tree / "huge.txt", HUGE_BYTES)
            arguments: dict[str, object] = {"file_path": "huge.txt", "offset": lines // 2, "limit": 200}
            tool = "read_file"
        else:
            arguments = {"command": f"yes 0123456789abcdef | head -c {PRINTED_BYTES}"}
            tool = "run_command"
        before = _reset_peak()
        here.call(tool, **arguments)
        print(json.dumps({"grown_mb": round((_status("VmHWM") - before) / 1024, 1)}))


def _reset_peak() -> int:
    """Let the peak start at what the process has now, and return that, in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main(sys.argv[1])
