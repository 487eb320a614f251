"""The commands that the files of one folder propose, each with the file that says so; nothing of them is run."""

from collections.abc import Callable, Iterator

from workspaces.projects import node, others, python
from workspaces.projects.manifests import Manifests
from workspaces.projects.proposal import KINDS, Proposal

__all__ = ["KINDS", "Proposal", "proposals"]

LANGUAGES: tuple[Callable[[Manifests], Iterator[Proposal]], ...] = (
    others.make,
    python.commands,
    node.commands,
    others.commands,
    others.just,
)


def proposals(files: Manifests) -> list[Proposal]:
    """Return what the files of a folder propose, each command once; the first of a kind is the likeliest."""
    found: dict[tuple[str, str], Proposal] = {}
    for language in LANGUAGES:
        for proposal in language(files):
            found.setdefault((proposal.kind, proposal.command), proposal)
    return sorted(found.values(), key=lambda proposal: not proposal.first_choice)
