"""What a project's own files say: its languages and tools, and the commands that set it up, check it and build it."""

from workspaces.projects.commands import KINDS, Proposal, proposals
from workspaces.projects.detecting import Detected, Project, detect
from workspaces.projects.manifests import Manifests

__all__ = ["KINDS", "Detected", "Manifests", "Project", "Proposal", "detect", "proposals"]
