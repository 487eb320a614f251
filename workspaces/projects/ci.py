"""The commands that a project's continuous integration runs: evidence of how its people check it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workspaces.projects.manifests import Manifests, table, texts

WORKFLOWS = ".github/workflows"
GITLAB = ".gitlab-ci.yml"
MAX_FILES, MAX_JOBS, MAX_STEPS, MAX_COMMANDS = 10, 40, 60, 60
COMMAND_CHARS = 300


@dataclass(frozen=True)
class Step:
    """A command of a job, and the folder it runs in."""

    file: str
    job: str
    command: str


def steps(top: Manifests, workflows: Manifests) -> list[Step]:
    """Return the commands of workflows and of GitLab's file, each once, at most MAX_COMMANDS."""
    found: dict[str, Step] = {}
    for step in _all(top, workflows):
        if len(found) >= MAX_COMMANDS:
            break
        found.setdefault(step.command, step)
    return list(found.values())


def _all(top: Manifests, workflows: Manifests) -> Iterator[Step]:
    names = sorted(name for name in workflows.names if name.endswith((".yml", ".yaml")))
    for name in names[:MAX_FILES]:
        yield from _github(workflows.yaml(name), f"{WORKFLOWS}/{name}")
    if top.has(GITLAB):
        yield from _gitlab(top.yaml(GITLAB))


def _github(workflow: dict[str, Any], file: str) -> Iterator[Step]:
    for job, held in list(table(workflow, "jobs").items())[:MAX_JOBS]:
        listed = table(held).get("steps")
        for step in listed[:MAX_STEPS] if isinstance(listed, list) else []:
            run, folder = table(step).get("run"), table(step).get("working-directory")
            for command in _commands(run):
                yield Step(file, str(job), f"cd {folder} && {command}" if isinstance(folder, str) else command)


def _gitlab(pipeline: dict[str, Any]) -> Iterator[Step]:
    for job, held in list(pipeline.items())[:MAX_JOBS]:
        for part in ("before_script", "script"):
            for script in texts(table(held).get(part))[:MAX_STEPS]:
                yield from (Step(GITLAB, str(job), command) for command in _commands(script))


def _commands(script: Any) -> list[str]:
    """Return the lines of a script that run something, continued lines as one; none where it is more than lines."""
    if not isinstance(script, str):
        return []
    lines = script.replace("\\\n", " ").split("\n")
    commands = [" ".join(line.split()) for line in lines]
    return [command for command in commands if command and command[0] != "#" and len(command) <= COMMAND_CHARS]
