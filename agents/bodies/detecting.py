"""What detect_project shows: languages, and for each project its commands with the files that say so."""

from typing import Any, NamedTuple

from agents import told
from agents.bodies.parts import NAME_CHARS, WORDS, Names, names_of
from agents.told import Told

PROJECTS = 20
COMMANDS = 20
"""Of one project."""
TOOLS = 10


class Named(NamedTuple):
    """Something, and the file that says so."""

    name: str
    file: str
    url: str


class Command(NamedTuple):
    """A command that was found, and the file that says so."""

    kind: str
    command: str
    file: str
    url: str
    because: str


class Project(NamedTuple):
    """`path` is "" for the root."""

    path: str
    url: str
    commands: list[Command]
    more: int
    tools: list[Named]
    manifests: Names
    members: Names


_KINDS = {"setup": "set up", "test": "test", "lint": "lint", "types": "type-check", "build": "build"}


def detected(call: Told) -> dict[str, Any]:
    """Return what was found, the first of each."""
    languages = [(_name(each.get("name")), told.count(each.get("files"))) for each in call.rows("languages")]
    projects = [_project(call, each) for each in call.rows("projects")[:PROJECTS]]
    unreadable = [(told.text(each.get("path")), told.text(each.get("why"))) for each in call.rows("unreadable")[:WORDS]]
    return {
        "languages": languages[:WORDS],
        "projects": projects,
        "more": max(0, (call.count("total") or 0) - len(projects)),
        "ci": [_command(call, each, "job") for each in call.rows("ci")[:WORDS]],
        "more_ci": call.more("ci", WORDS),
        "unreadable": unreadable,
        "left_out": call.count("left_out") or 0,
    }


def _project(call: Told, row: dict[str, Any]) -> Project:
    path, commands = told.text(row.get("path")), told.rows(row.get("commands"))
    tools = [*told.rows(row.get("package_managers")), *told.rows(row.get("frameworks"))]
    return Project(
        path="" if path == "." else path,
        url=call.folder_url(path),
        commands=[_command(call, each, "kind") for each in commands[:COMMANDS]],
        more=max(0, len(commands) - COMMANDS),
        tools=[_named(call, each) for each in tools[:TOOLS]],
        manifests=names_of(row.get("manifests")),
        members=names_of(row.get("members")),
    )


def _command(call: Told, row: dict[str, Any], kind: str) -> Command:
    word, file = _name(row.get(kind)), _name(row.get("file"))
    because = told.text(row.get("because"))
    return Command(_KINDS.get(word, word), told.text(row.get("command")), file, call.file_url(file), because)


def _named(call: Told, row: dict[str, Any]) -> Named:
    file = _name(row.get("file"))
    return Named(_name(row.get("name")), file, call.file_url(file))


def _name(value: Any) -> str:
    return told.text(value, NAME_CHARS)
