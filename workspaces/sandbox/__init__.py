"""The wall around commands: what a command may see and use, and the run of one command inside it."""

from workspaces.sandbox.place import Limits, Outcome, Place

__all__ = ["Limits", "Outcome", "Place"]
