"""What the verify commands show at a base, kept by base, commands and set-up: what was red before counts for nobody."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.utils import timezone

from agents.encoding import safe
from agents.models import BaseProof
from workspaces import setup
from workspaces.models import Workspace
from workspaces.proving.results import CommandResult
from workspaces.sandbox import Ending

KEPT = 20
"""Of one repository; one knows up to 50,000 tests of each command by name."""
FORM = 2
"""Another number for each change of how commands are run or their tests read, so that older ones are made anew."""
_SAYS_SOMETHING = frozenset({Ending.EXIT, Ending.TIMEOUT, Ending.OUTPUT_LIMIT, Ending.MEMORY_LIMIT})


def of(
    workspace: Workspace,
    tree: str,
    commands: Sequence[str],
    visible: str,
    run: Callable[[], list[CommandResult]],
) -> list[CommandResult]:
    """Return what the commands showed at the base's `tree`: what is kept, or what `run` finds, which is kept then.

    `visible`: the part of the tree that they saw, "" for all. Two runs that look for the same at once both find it, and
    one's is kept. What says nothing of the base, such as a command that was stopped, is not kept.
    """
    key = _key(workspace, tree, commands, visible)
    kept = BaseProof.objects.filter(repository=workspace.repository, key=key)
    if (row := kept.first()) is not None and (known := _read(row.commands)) is not None:
        kept.update(used_at=timezone.now())
        return known
    found = run()
    if len(found) == len(commands) and all(each.ending in _SAYS_SOMETHING for each in found):
        told = safe([asdict(replace(each, output_tail="", output_ref="")) for each in found])
        kept.model.objects.update_or_create(repository=workspace.repository, key=key, defaults={"commands": told})
        _forget_old(workspace)
    return found


def _key(workspace: Workspace, tree: str, commands: Sequence[str], visible: str) -> str:
    told = [FORM, tree, list(commands), visible, setup.key(workspace)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _read(stored: Any) -> list[CommandResult] | None:
    """Return the results of a row; None where another version of Sakura wrote it in another shape."""
    try:
        return [CommandResult(**each) for each in stored]
    except TypeError:
        return None


def _forget_old(workspace: Workspace) -> None:
    rows = BaseProof.objects.filter(repository=workspace.repository)
    newest = list(rows.order_by("-used_at", "-pk").values_list("pk", flat=True)[:KEPT])
    rows.exclude(pk__in=newest).delete()
