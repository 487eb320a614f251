"""What commands show beside their output: the wall around them, and which part of the output it is."""

from typing import Any

from agents import told
from agents.bodies import walls
from agents.told import Told
from workspaces.sandbox import Limit, Tree

LIMITS: dict[str, str] = {
    Limit.TIME: "time",
    Limit.CPU: "processor time",
    Limit.OUTPUT: "output",
    Limit.MEMORY: "memory",
    Limit.PROCESSES: "processes",
    Limit.OPEN_FILES: "open files",
    Limit.FILE_SIZE: "a file’s size",
    Limit.DISK: "free disk",
    Limit.TMP: "/tmp",  # noqa: S108  a word
    Limit.SHM: "/dev/shm",  # noqa: S108  a word
}
"""Each limit in words after "the limit of"."""


def ran(call: Told) -> dict[str, Any]:
    """Return the wall that was around the command, and the id of one in the background."""
    return {
        "is_background": bool(call.data.get("background")),
        "job": call.text("id"),
        "wall": walls.wall(call.part("applied")),
        "is_read_only": told.text(call.part("applied").get("mode")) == Tree.READ,
        "limit": LIMITS.get(call.text("limit"), ""),
        "signal": call.text("signal"),
        "total_bytes": call.count("total_bytes"),
        "timeout_ms": call.count("timeout_ms"),
    }


def followed(call: Told) -> dict[str, Any]:
    """Return which bytes of a background command's output are shown."""
    gap = call.data.get("left_out")
    ends = [told.count(each) for each in gap] if isinstance(gap, list) and len(gap) == 2 else []
    left_out = max(0, (ends[1] or 0) - (ends[0] or 0)) if ends else 0
    return {
        "job": call.text("id"),
        "start": call.count("offset"),
        "end": call.count("next_offset"),
        "total_bytes": call.count("total_bytes"),
        "left_out": left_out,
        "ran_ms": call.count("duration_ms"),
    }
