"""The tool use_skill: loads the instructions of a skill, or a file that lies beside them."""

import hashlib

from pydantic import Field

from agents.tools.base import Effect, Fact, Input, LoadedSkill, Output, Result, SkillFile, ToolContext, tool
from workspaces import outputs

LISTED = 50
"""Files of a skill that the result names."""


class UseSkill(Input):
    skill: str = Field(min_length=1, max_length=200, description="The name of the skill.")
    args: str = Field("", max_length=10_000, description="What the skill is to work on; it is filled into its text.")
    file: str = Field(
        "", max_length=4096, description="A file in the skill's folder to read, instead of loading the skill."
    )


class UseSkillOutput(Output):
    """What was loaded. `tools` None: it narrows nothing; `commands` None: any; `remaining`: what the agent has now."""

    skill: str
    origin: str
    path: str
    file: str = ""
    tools: list[str] | None = None
    commands: list[str] | None = None
    remaining: list[str] = []
    files: list[str] = []
    notes: list[str] = []


@tool(effect=Effect.READ, input=UseSkill, output=UseSkillOutput)
def use_skill(ctx: ToolContext, args: UseSkill) -> Result:
    """Load a skill: instructions for a kind of work, written by people. Load one before you begin work that it fits.

    The system prompt names the skills there are. A skill may narrow your tools until the end of the round, and several
    narrow them together; the result says what is left. Use file to read what lies in a skill's folder; that narrows
    nothing. Do not load a skill just to look at it.
    """
    if args.file:
        return _file(ctx, ctx.skills.read(args.skill, args.file))
    return _skill(ctx, ctx.skills.load(args.skill, args.args))


def _skill(ctx: ToolContext, skill: LoadedSkill) -> Result:
    data = UseSkillOutput(
        skill=skill.name,
        origin=skill.origin,
        path=skill.path,
        tools=_listed(skill.tools),
        commands=_listed(skill.commands),
        remaining=list(skill.remaining),
        files=list(skill.files),
        notes=list(skill.notes),
        fact=Fact(
            "use_skill",
            skill.name,
            fingerprint=skill.fingerprint,
            freshness="stable",
            refresh=f"use_skill {skill.name}",
        ),
    )
    head = f"The skill {skill.name}, from {skill.origin}."
    return _bounded(ctx, [head, *_said(skill)], skill.text, data)


def _said(skill: LoadedSkill) -> list[str]:
    said = list(skill.notes)
    if skill.tools is not None:
        said.append(f"Until the end of this round you have these tools: {', '.join(skill.remaining)}.")
    if skill.commands is not None:
        said.append(f"Commands must be like {', '.join(skill.commands)}.")
    if skill.files:
        more = f" and {len(skill.files) - LISTED} more" if len(skill.files) > LISTED else ""
        said.append(f"Files in its folder, to read with file: {', '.join(skill.files[:LISTED])}{more}.")
    return said


def _file(ctx: ToolContext, file: SkillFile) -> Result:
    fingerprint = hashlib.sha256(file.text.encode()).hexdigest()
    refresh = f"use_skill {file.skill} {file.file}"
    data = UseSkillOutput(
        skill=file.skill,
        origin=file.origin,
        path=file.path,
        file=file.file,
        fact=Fact("use_skill", f"{file.skill}/{file.file}", "", fingerprint, "stable", refresh),
    )
    return _bounded(ctx, [f"The file {file.file} of the skill {file.skill}."], file.text, data)


def _bounded(ctx: ToolContext, said: list[str], text: str, data: UseSkillOutput) -> Result:
    """Return what is said and then the text, cut to the cap; the whole is kept where something is left out."""
    head = "\n".join(said)
    room = max(ctx.limits.other_chars // 2, ctx.limits.other_chars - len(head) - 2)
    how = f"read_file {data.path} shows them in parts" if data.path else "people can see the whole"
    shown = outputs.head_and_tail(text, room, how)
    content = f"{head}\n\n{shown}"
    is_cut = len(text) > room
    return Result(content, data.dump(), truncated=is_cut, whole=f"{head}\n\n{text}" if is_cut else None)


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
