"""The tool detect_project: what the workspace's own files say of how to set it up, check it and build it."""

import hashlib
from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from agents.tools.base import Effect, Fact, Input, Output, Result, Rules, ToolContext, ToolError, tool
from workspaces import globs, names, projects

LANGUAGES_SHOWN = 12
WORDS = {"setup": "set-up", "test": "test", "lint": "lint", "types": "type-check", "build": "build"}


class DetectProject(Input):
    """No arguments."""


class Language(BaseModel):
    name: str
    files: int


class Named(BaseModel):
    """Something, and the file that says so."""

    name: str
    file: str


class ProposedCommand(BaseModel):
    """A command that starts at the workspace root. `kind`: setup, test, lint, types or build."""

    kind: str
    command: str
    file: str
    because: str


class DetectedProject(BaseModel):
    path: str
    """The folder, `.` for the root."""
    package_managers: list[Named]
    frameworks: list[Named]
    manifests: list[str]
    """Paths from the workspace root."""
    members: list[str]
    """The parts that it names, as it writes them."""
    commands: list[ProposedCommand]


class CiCommand(BaseModel):
    file: str
    job: str
    command: str


class Unreadable(BaseModel):
    path: str
    why: str


class DetectProjectOutput(Output):
    languages: list[Language]
    projects: list[DetectedProject]
    """The root first, then those below it."""
    total: int
    """How many projects there are, shown or not."""
    ci: list[CiCommand]
    unreadable: list[Unreadable]
    left_out: int
    """Commands that the policy does not allow."""
    complete: bool


@tool(effect=Effect.READ, input=DetectProject, output=DetectProjectOutput)
def detect_project(ctx: ToolContext, args: DetectProject) -> Result:
    """Look at the project's own files: languages, package managers, frameworks, and commands to set it up and check it.

    Use it once at the start, before you guess how tests are run. It only suggests and runs nothing; each command names
    the file that says so. Projects in folders below are found to a depth of 3, ignored folders are left out.
    """
    hides = globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None
    found = projects.detect(ctx.tree, ctx.cancelled, hides)
    allowed = _Allowed(ctx.rules)
    output = DetectProjectOutput(
        languages=[Language(name=name, files=count) for name, count in found.languages],
        projects=[_project(project, allowed) for project in found.projects],
        total=found.total,
        ci=[
            CiCommand(file=names.shown(step.file), job=names.shown(step.job), command=names.shown(step.command))
            for step in found.ci
            if allowed(step.command)
        ],
        unreadable=[Unreadable(path=names.shown(path), why=why) for path, why in sorted(found.unreadable.items())],
        left_out=0,
        complete=found.complete,
    )
    output.left_out = allowed.refused
    content = "\n".join(_words(output))
    fingerprint = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    output.fact = Fact("detect_project", ".", fingerprint=fingerprint, freshness="derived", refresh="detect_project")
    return Result(content, output.dump(), truncated=found.total > len(found.projects))


class _Allowed:
    """Tells whether the policy lets a command run, and counts those that it does not."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.refused = 0

    def __call__(self, command: str) -> bool:
        try:
            self._rules.may_run(command)
        except ToolError:
            self.refused += 1
            return False
        return True


def _project(project: projects.Project, allowed: _Allowed) -> DetectedProject:
    above = f"{project.folder}/" if project.folder else ""
    return DetectedProject(
        path=names.shown(project.folder) or ".",
        package_managers=[_named(name, above + file) for name, file in project.managers.items()],
        frameworks=[_named(name, above + file) for name, file in project.frameworks.items()],
        manifests=[names.shown(above + name) for name in project.manifests],
        members=[names.shown(member) for member in project.members],
        commands=[
            ProposedCommand(
                kind=each.kind,
                command=names.shown(each.command),
                file=names.shown(each.file),
                because=names.shown(each.because),
            )
            for each in project.commands
            if allowed(each.command)
        ],
    )


def _named(name: str, file: str) -> Named:
    return Named(name=name, file=names.shown(file))


# --- in words ------------------------------------------------------------------------------------


def _words(output: DetectProjectOutput) -> Iterator[str]:
    shown = [f"{each.name} ({each.files})" for each in output.languages[:LANGUAGES_SHOWN]]
    yield f"Languages, by files: {', '.join(shown) or 'none that is known'}"
    for project in output.projects:
        yield from _of_project(project)
    if output.total > len(output.projects):
        yield f"[{len(output.projects)} of {output.total} projects shown; glob finds the others by their manifests]"
    if output.ci:
        yield "\nContinuous integration runs:"
        yield from (f"  {each.command}   [{each.file}: {each.job}]" for each in output.ci)
    if output.unreadable:
        yield "\nNot made use of:"
        yield from (f"  {each.path}: {each.why}" for each in output.unreadable)
    if output.left_out:
        yield f"\n[{output.left_out} more commands are not allowed here and were left out]"
    if not output.complete:
        yield "[there are so many files that not all were looked at]"


def _of_project(project: DetectedProject) -> Iterator[str]:
    yield f"\n{'At the root' if project.path == '.' else project.path + '/'}:"
    if not project.manifests:
        yield "  no file that says how to set it up or check it"
    yield from _line("package managers", project.package_managers)
    yield from _line("frameworks", project.frameworks)
    if project.manifests:
        yield f"  manifests: {', '.join(project.manifests)}"
    if project.members:
        yield f"  its parts: {', '.join(project.members)}"
    for kind, word in WORDS.items():
        for each in project.commands:
            if each.kind == kind:
                yield f"  {word}: {each.command}   [{each.because}]"


def _line(what: str, found: Iterable[Named]) -> Iterator[str]:
    told = [f"{each.name} ({each.file})" for each in found]
    if told:
        yield f"  {what}: {', '.join(told)}"
