"""Looks at a tree on disk for the projects in it: one at its root, and those in folders below."""

import re
import shlex
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from workspaces import listing
from workspaces.projects import ci, stack
from workspaces.projects.commands import Proposal, proposals
from workspaces.projects.manifests import OnDisk

DEPTH = 3
MAX_PROJECTS = 40
MAX_MANIFESTS = 100

_PROJECT = frozenset(
    {"pyproject.toml", "setup.py", "requirements.txt", "noxfile.py", "package.json", "deno.json", "go.mod"}
    | {"Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "mix.exs"}
)
"""A folder with one of these is a project."""
_DOTNET = (".sln", ".csproj", ".fsproj")
_ALSO = re.compile(
    r"setup\.cfg|tox\.ini|(?:[\w-]+-)?requirements.*\.txt|(?:GNUm|M|m)akefile|\.?[jJ]ustfile|CMakeLists\.txt|Pipfile"
    r"|environment\.yml|gradlew|pnpm-workspace\.yaml|go\.work|tsconfig\.json|\.pre-commit-config\.yaml|\.gitlab-ci\.yml"
    r"|[^/]*\.lockb?|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|Dockerfile|(?:docker-)?compose\.ya?ml"
)
"""These tell more of a project."""


@dataclass(frozen=True)
class Project:
    """One project: its folder ("" for the root) and what its files say, by kind of command."""

    folder: str
    managers: dict[str, str]
    frameworks: dict[str, str]
    manifests: list[str]
    commands: list[Proposal]
    members: list[str]


@dataclass(frozen=True)
class Detected:
    """What was found. `unreadable`: why a file could not be made use of; `total` projects, shown or not."""

    projects: list[Project]
    total: int
    languages: list[tuple[str, int]]
    ci: list[ci.Step]
    unreadable: dict[str, str] = field(default_factory=dict)
    complete: bool = True


def detect(root: Path, cancelled: threading.Event, hides: listing.Hides | None = None) -> Detected:
    """Return the projects of a tree, down to DEPTH folders below its root. Only files that no rule ignores are read."""
    held = listing.below(root, "", cancelled, hides)
    languages = stack.languages(held.files.values())
    folders = _folders(held, [name for name, _ in languages])
    top, workflows = (OnDisk(root, folder, _names(held, folder)) for folder in ("", ci.WORKFLOWS))
    unreadable: dict[str, str] = {}
    found = [_project(held, "", top)]
    for folder in folders[1:MAX_PROJECTS]:
        files = OnDisk(root, folder, _names(held, folder))
        found += [_project(held, folder, files)] if _is_project(files) else []
        unreadable |= _noted(files, folder)
    steps = ci.steps(top, workflows)
    unreadable |= _noted(top, "") | _noted(workflows, ci.WORKFLOWS)
    total = len(found) + len(folders[MAX_PROJECTS:])
    return Detected(found, total, languages, steps, unreadable, held.complete)


def _folders(held: listing.Held, languages: Collection[str]) -> list[str]:
    """Return the root, then the folders below it that may be projects, by depth and path."""
    dotnet = bool({"C#", "F#"}.intersection(languages))
    below = [
        folder
        for folder, names in held.files.items()
        if folder and folder.count("/") < DEPTH and (not _PROJECT.isdisjoint(names) or (dotnet and any(_dotnet(names))))
    ]
    return ["", *sorted(below, key=lambda folder: (folder.count("/"), folder))]


def _dotnet(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.endswith(_DOTNET))


def _is_project(files: OnDisk) -> bool:
    """Return whether the files make a project; a setup.py may be about anything."""
    told = [name for name in files.names if name in _PROJECT or name.endswith(_DOTNET)]
    return told != ["setup.py"] or bool(re.search(r"setuptools|distutils", files.text("setup.py")))


def _names(held: listing.Held, folder: str) -> set[str]:
    return {*held.files.get(folder, ()), *held.folders.get(folder, ())}


def _project(held: listing.Held, folder: str, files: OnDisk) -> Project:
    told = sorted(n for n in held.files.get(folder, ()) if n in _PROJECT or n.endswith(_DOTNET) or _ALSO.fullmatch(n))
    if not folder:
        told += [f"{ci.WORKFLOWS}/{name}" for name in sorted(held.files.get(ci.WORKFLOWS, ()))]
    return Project(
        folder=folder,
        managers=stack.managers(files),
        frameworks=stack.frameworks(files),
        manifests=told[:MAX_MANIFESTS],
        commands=[_in_folder(proposal, folder) for proposal in proposals(files)],
        members=stack.members(files),
    )


def _in_folder(proposal: Proposal, folder: str) -> Proposal:
    """Return the proposal as a command that starts at the root."""
    if not folder:
        return proposal
    return replace(
        proposal, command=f"cd {shlex.quote(folder)} && {proposal.command}", file=f"{folder}/{proposal.file}"
    )


def _noted(files: OnDisk, folder: str) -> dict[str, str]:
    return {f"{folder}/{name}" if folder else name: why for name, why in files.unreadable.items()}
