"""The skills that an agent may load: which are offered, which an admin switched off, and what loading one does."""

import hashlib
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from agents.models import DisabledSkill, Kind, Run
from agents.narrowing import USE_SKILL, Loaded, NarrowedRules, allowed, remaining
from agents.tools.base import LoadedSkill, Rules, SkillFile, ToolError
from workspaces import cuts, skills
from workspaces.models import Snapshot, Workspace
from workspaces.paths import WorkspaceError
from workspaces.shelves import FolderShelf
from workspaces.skills import Origin, Skill

OWN = Path(__file__).parent / "own_skills"
DESCRIPTION_CHARS = 500
LIST_CHARS = 8000
WRITTEN_LIMIT = 2000
"""Snapshots of a run whose paths are looked at for sub-projects."""


def own() -> list[Skill]:
    """Return the application's own skills: those of the installation, then those that come with Sakura."""
    return [*skills.of_installation(), *skills.on(FolderShelf(OWN), Origin.SHIPPED, [""])]


def origin_of(skill: Skill) -> str:
    """Return whose skill it is, in words; no path outside the repository is shown."""
    match skill.origin:
        case Origin.REPOSITORY:
            return f"the repository, {skill.path}"
        case Origin.INSTALLATION:
            return f"this installation, skills/{skill.path}"
        case Origin.SHIPPED:
            return "Sakura"


@dataclass(frozen=True)
class Switches:
    """Which names are off: among a repository's skills, and among the application's own."""

    repository: frozenset[str]
    own: frozenset[str]

    @classmethod
    def of(cls, repository_id: int | None) -> "Switches":
        in_repository = DisabledSkill.names(repository_id) if repository_id is not None else frozenset()
        return cls(in_repository, DisabledSkill.names(None))

    def is_on(self, skill: Skill) -> bool:
        return skill.name not in (self.repository if skill.origin is Origin.REPOSITORY else self.own)


def offered(found: Iterable[Skill], switches: Switches) -> dict[str, Skill]:
    """Return those that can be loaded, by name: of one name the first that is whole and switched on."""
    chosen: dict[str, Skill] = {}
    for skill in found:
        if not skill.fault and switches.is_on(skill):
            chosen.setdefault(skill.name, skill)
    return chosen


def listed(found: Iterable[Skill]) -> str:
    """Return names and descriptions as a list for the model: 500 characters each, 8,000 in all."""
    lines: list[str] = []
    size = left_out = 0
    for skill in found:
        line = f"- {skill.name}: {_short(skill.description)}"
        if left_out or size + len(line) + 1 > LIST_CHARS:
            left_out += 1
            continue
        lines.append(line)
        size += len(line) + 1
    if left_out:
        lines.append(f"({left_out} more are left out here; use_skill names them all when it does not know a name)")
    return "\n".join(lines)


def _short(description: str) -> str:
    if len(description) <= DESCRIPTION_CHARS:
        return description or "(it has no description)"
    return f"{cuts.head(description, DESCRIPTION_CHARS - 1).rstrip()}…"


class AgentSkills:
    """The skills of one agent in one round (the `Skills` of agents.tools.base).

    What the agent wrote tells which sub-projects' skills it has; `loaded` grows with every skill that it loads.
    """

    def __init__(
        self,
        workspace: Workspace | None = None,
        rules: Rules | None = None,
        tools: Sequence[str] = (),
        loaded: Iterable[Loaded] = (),
    ) -> None:
        self._workspace = workspace
        self._rules = rules
        self._tools = tuple(tools)
        self.loaded = list(loaded)
        self._lock = Lock()
        self._written = _written(workspace)
        self._kept: dict[str, list[Skill]] = {}
        """What lies in the repository's folders for skills, as far as they were looked at."""

    def narrowed(self, rules: Rules) -> Rules:
        """Return the rules with what the loaded skills leave of them, now and later."""
        return NarrowedRules(rules, self._tools, self.loaded)

    def offered(self) -> dict[str, Skill]:
        """Return the skills that can be loaded now, by name, nearest first. Two queries."""
        repository_id = self._workspace.repository_id if self._workspace else None
        return offered([*self._of_repository(), *own()], Switches.of(repository_id))

    def _of_repository(self) -> list[Skill]:
        if self._workspace is None:
            return []
        bases = skills.bases_above(self._written)
        if unknown := [base for base in bases if base not in self._kept]:
            found = [skill for skill in skills.at_baseline(self._workspace, unknown) if self._is_seen(skill.path)]
            for base in unknown:
                self._kept[base] = [skill for skill in found if skill.path.startswith(f"{base}/")]
        return [skill for base in bases for skill in self._kept[base]][: skills.SKILLS_LIMIT]

    def _is_seen(self, path: str) -> bool:
        return self._rules is None or not self._rules.hides(path)

    def _find(self, name: str) -> Skill:
        there = self.offered()
        if name not in there:
            names = ", ".join(there) or "none at all"
            raise ToolError("NOT_FOUND", f"there is no skill {name[:100]!r}. The skills are: {names}.")
        return there[name]

    # --- what the tool asks ----------------------------------------------------------------------------

    def load(self, name: str, args: str) -> LoadedSkill:
        """Return the skill with its arguments filled in; from now on the agent has only what it allows besides."""
        skill = self._find(name)
        means = allowed(skill.allowed)
        narrows = Loaded(skill.name, means.tools, means.commands)
        with self._lock:  # calls of one turn load side by side
            self.loaded.extend([narrows] if narrows not in self.loaded else [])
            left = remaining(self._tools, self.loaded)
        return LoadedSkill(
            name=skill.name,
            origin=origin_of(skill),
            path=_in_tree(skill, skill.path),
            text=skills.filled_in(skill.text, args),
            fingerprint=hashlib.sha256(skill.text.encode()).hexdigest(),
            tools=means.tools,
            commands=means.commands,
            remaining=left,
            files=self._files(skill),
            notes=means.notes,
        )

    def _files(self, skill: Skill) -> tuple[str, ...]:
        return tuple(file for file in skill.files if not self._hides(skill, file))

    def _hides(self, skill: Skill, file: str) -> bool:
        path = _in_tree(skill, skill.path_of(file))
        return bool(path) and not self._is_seen(path)

    def read(self, name: str, file: str) -> SkillFile:
        """Return a file of the skill's folder, as it was at the baseline."""
        skill = self._find(name)
        if self._hides(skill, posixpath.normpath(file)):
            raise ToolError("DENIED", f"{file}: a rule hides it from agents; go on without it.")
        inside = {path: item for path, item in skill.inside.items() if not self._hides(skill, path)}
        try:
            path, text = skills.read_file(replace(skill, inside=inside), file)
        except WorkspaceError as error:
            raise ToolError(error.code, error.message) from None
        return SkillFile(skill.name, origin_of(skill), path, _in_tree(skill, skill.path_of(path)), text)

    # --- what changes as the agent works ---------------------------------------------------------------

    def note_written(self, call_id: str) -> list[str]:
        """Take in what a call wrote; return what to tell the agent of skills that it has from now on."""
        if self._workspace is None:
            return []
        rows = Snapshot.objects.filter(workspace=self._workspace, call_id=call_id).values_list("files", flat=True)
        paths = [path for path in _paths(rows) if path not in self._written]
        if not paths:
            return []
        before = self.offered()
        self._written.update(dict.fromkeys(paths))
        new = [skill for name, skill in self.offered().items() if before.get(name) != skill]
        if not new:
            return []
        where = ", ".join(dict.fromkeys(project_of(skill) for skill in new))
        return [f"You work in {where} now, which has skills of its own; use_skill loads them:\n{listed(new)}"]


def _in_tree(skill: Skill, path: str) -> str:
    """Return the path as one of the workspace, "" where the skill is the application's own."""
    return path if skill.origin is Origin.REPOSITORY else ""


def project_of(skill: Skill) -> str:
    """Return the sub-project that a repository's skill belongs to."""
    for folder in skills.FOLDERS:
        head, found, _ = skill.path.partition(f"{folder}/")
        if found:
            return head.rstrip("/") or "the root"
    return "the root"


def _written(workspace: Workspace | None) -> dict[str, None]:
    """Return the paths that calls of this run changed, in order, from its latest snapshots."""
    if workspace is None:
        return {}
    rows = Snapshot.objects.filter(workspace=workspace).exclude(call_id="").order_by("-number")
    return dict.fromkeys(_paths(list(rows.values_list("files", flat=True)[:WRITTEN_LIMIT])[::-1]))


def _paths(rows: Iterable[list[dict[str, Any]]]) -> list[str]:
    return [str(file["path"]) for files in rows for file in files]


def loaded_in_round(run: Run, agent: str) -> list[Loaded]:
    """Return what the agent loaded in the run's present round, each once, from its events."""
    results = run.events.filter(
        kind=Kind.TOOL_RESULT, agent=agent, round=run.round, data__tool=USE_SKILL, data__is_error=False
    )
    given = (data or {} for data in results.order_by("seq").values_list("data__data", flat=True).iterator())
    loads = (data for data in given if data.get("skill") and not data.get("file"))
    narrow = (Loaded(str(data["skill"]), _tuple(data.get("tools")), _tuple(data.get("commands"))) for data in loads)
    return list(dict.fromkeys(narrow))


def _tuple(value: Any) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list) else None
