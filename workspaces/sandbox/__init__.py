"""The wall around commands: what a command may see and use, and the run of one command inside it."""

from workspaces.sandbox.covering import covered
from workspaces.sandbox.identity import own, worker_uid
from workspaces.sandbox.leftovers import end_leftover, sweep
from workspaces.sandbox.limits import Limit, met
from workspaces.sandbox.place import Connection, Ending, Limits, Outcome, Place, Tree, Way
from workspaces.sandbox.probe import Report, probe
from workspaces.sandbox.run import run_command
from workspaces.sandbox.wording import bounds, disk_is_full, hints, how_it_ended

__all__ = [
    "Connection",
    "Ending",
    "Limit",
    "Limits",
    "Outcome",
    "Place",
    "Report",
    "Tree",
    "Way",
    "bounds",
    "covered",
    "disk_is_full",
    "end_leftover",
    "hints",
    "how_it_ended",
    "met",
    "own",
    "probe",
    "run_command",
    "sweep",
    "worker_uid",
]
