"""The wall around commands: what a command may see and use, and the run of one command inside it."""

from workspaces.sandbox.covering import hiding
from workspaces.sandbox.identity import own, worker_uid
from workspaces.sandbox.place import Connection, Ending, Limits, Outcome, Place, Tree, Way
from workspaces.sandbox.probe import Report, probe
from workspaces.sandbox.run import end_leftover, run_command
from workspaces.sandbox.wording import hints, how_it_ended

__all__ = [
    "Connection",
    "Ending",
    "Limits",
    "Outcome",
    "Place",
    "Report",
    "Tree",
    "Way",
    "end_leftover",
    "hiding",
    "hints",
    "how_it_ended",
    "own",
    "probe",
    "run_command",
    "worker_uid",
]
