"""What commands show beside their output: the wall around them, and which part of the output it is."""

from typing import Any

from agents import told
from agents.bodies.parts import names_of
from agents.told import Told


def ran(call: Told) -> dict[str, Any]:
    """Return what the sandbox allowed, and the id of a command in the background."""
    applied = call.part("applied")
    hosts = names_of(applied.get("network"))
    return {
        "is_background": bool(call.data.get("background")),
        "job": call.text("id"),
        "wall": told.text(applied.get("level")),
        "hosts": hosts,
        "is_read_only": told.text(applied.get("mode")) == "read",
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
