"""Agent Skills: finds the instructions that lie in folders for skills, reads their front matter and their files."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.conf import settings

from workspaces import cuts, encodings, front_matter, store
from workspaces.git import Git
from workspaces.models import Repository, Workspace
from workspaces.names import shown
from workspaces.paths import WorkspaceError
from workspaces.shelves import FolderShelf, Item, Shelf, TreeShelf, read_one

FOLDERS = (".sakura/skills", ".claude/skills")
"""Where a repository, or a sub-project of it, keeps skills; the first one wins by name."""
SKILL = "SKILL.md"
SKILL_BYTES = 64 * 1024
FILE_BYTES = 1024 * 1024
SKILLS_LIMIT = 200
FILES_LIMIT = 200
"""Files of one skill that are named."""
BASES_LIMIT = 200
DESCRIPTION_CHARS = 2000
LINKS_LIMIT = 8
NAMED = 50
"""Files that a refusal names."""
PLACES_LIMIT = 100
"""Places for arguments in one text that are filled in; any further one stays as it is."""
_PATHS_BYTES = 64 * 1024 * 1024

NAME_CHARS = 64
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{NAME_CHARS - 1}}}")
_PLACE = re.compile(r"\$(?:ARGUMENTS\b|\{ARGUMENTS\}|([1-9])(?![0-9])|\{([1-9])\})")
_HOLDS_SKILLS = re.compile(rb"(?:(?<=/)|^)\.(?:sakura|claude)/skills/")


class Origin(StrEnum):
    """Whose skill it is."""

    REPOSITORY = "repository"
    INSTALLATION = "installation"
    SHIPPED = "shipped"


@dataclass(frozen=True)
class Skill:
    """A skill as it was found. `fault` says why it can't be used; then there may be no text.

    `path` is that of its text on its shelf. `allowed` are the entries of allowed-tools, None where it has none.
    `inside` maps the paths of its own folder to what lies there; a flat file has none.
    """

    name: str
    origin: Origin
    path: str
    shelf: Shelf = field(repr=False, compare=False)
    description: str = ""
    text: str = ""
    allowed: tuple[str, ...] | None = None
    fault: str = ""
    inside: Mapping[str, Item] = field(default_factory=dict, repr=False, compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """What else lies in its folder, at most 200 paths."""
        return tuple(path for path in self.inside if path != SKILL)[:FILES_LIMIT]

    def path_of(self, file: str) -> str:
        """Return the path on the shelf of a file in its folder."""
        return posixpath.join(posixpath.dirname(self.path), file)


# --- where to look -----------------------------------------------------------------------------------


def bases_above(written: Iterable[str]) -> list[str]:
    """Return the folders for skills that hold for who wrote these paths: upwards from each to the root.

    The nearest to what was written last comes first; the root's are always there, and last.
    """
    folders: dict[str, None] = {}
    for path in reversed(list(written)):
        folder = posixpath.dirname(path)
        while folder and len(folders) * len(FOLDERS) < BASES_LIMIT:
            folders.setdefault(folder)
            folder = posixpath.dirname(folder)
    return [posixpath.join(folder, name) for folder in [*folders, ""] for name in FOLDERS]


def bases_in(git: Git, tree: str) -> list[str]:
    """Return all folders for skills in a tree, those of the root first. Reads the names of the whole tree."""
    out = git.head("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, limit_bytes=_PATHS_BYTES)
    found: dict[str, None] = {}
    for path in out.split(b"\0")[:-1]:
        if match := _HOLDS_SKILLS.search(path):
            found.setdefault(shown(path[: match.end() - 1]))
    return sorted(found, key=_order)[:BASES_LIMIT]


def _order(base: str) -> tuple[int, str, bool]:
    """Sort the root's folders first, then sub-projects by path; in each, .sakura before .claude."""
    return base.count("/"), posixpath.dirname(posixpath.dirname(base)), not base.endswith(FOLDERS[0])


def at_baseline(workspace: Workspace, bases: Sequence[str]) -> list[Skill]:
    """Return the repository's skills in these folders as the run found them; never what the run made of them."""
    shelf = TreeShelf(store.ensure(workspace.repository), store.at(workspace, 0).tree)
    return on(shelf, Origin.REPOSITORY, bases)


def of_repository(repository: Repository, commit: str) -> list[Skill]:
    """Return all skills of a repository at a commit of its mirror, also those of sub-projects."""
    git = Git(repository.mirror)
    return on(TreeShelf(git, commit), Origin.REPOSITORY, bases_in(git, commit))


def of_installation() -> list[Skill]:
    """Return the skills that people put into the folder `skills` of the data folder."""
    return on(FolderShelf(Path(settings.SAKURA_DATA_DIR) / "skills"), Origin.INSTALLATION, [""])


# --- what is found -----------------------------------------------------------------------------------


def on(shelf: Shelf, origin: Origin, bases: Sequence[str]) -> list[Skill]:
    """Return the skills in these folders of a shelf, folder by folder and there by name; at most 200."""
    candidates = list(_candidates(shelf, origin, bases))[:SKILLS_LIMIT]
    readable = {each.path: item for each, item in candidates if not each.fault}
    texts = shelf.read_all(readable.values())
    return [_read(each, texts.get(item.key)) for each, item in candidates]


def _candidates(shelf: Shelf, origin: Origin, bases: Sequence[str]) -> Iterator[tuple[Skill, Item]]:
    items = shelf.items(bases)
    for base in bases:
        start = f"{base}/" if base else ""
        below = {path.removeprefix(start): item for path, item in items.items() if path.startswith(start)}
        for name, inside in _grouped(below):
            holds = SKILL if SKILL in inside else ""
            item = inside[holds]
            path = posixpath.join(start + name, holds) if holds else start + name
            fallback = name if holds else name.removesuffix(".md")
            shown_inside = inside if holds else {}
            yield Skill(fallback, origin, path, shelf, fault=_fault_of(item), inside=shown_inside), item


def _grouped(below: Mapping[str, Item]) -> Iterator[tuple[str, dict[str, Item]]]:
    """Yield what is a skill by its form: a folder that holds SKILL.md, or a flat file, whose only path is ""."""
    groups: dict[str, dict[str, Item]] = {}
    for path, item in below.items():
        name, _, rest = path.partition("/")
        groups.setdefault(name, {})[rest] = item
    for name in sorted(groups, key=lambda name: (name.casefold().removesuffix(".md"), name)):
        flat = name.endswith(".md") and name.casefold() != "readme.md"
        if SKILL in groups[name] or ("" in groups[name] and (flat or groups[name][""].is_link)):
            yield name, groups[name]


def _fault_of(item: Item) -> str:
    if item.is_link:
        return "It is a link, and skills are not read through links."
    if not item.is_file:
        return "It is no plain file."
    if item.size > SKILL_BYTES:
        return f"It has {item.size:,} bytes; a skill has at most {SKILL_BYTES // 1024} KB. Put long parts into files."
    return ""


def _read(skill: Skill, data: bytes | None) -> Skill:
    if skill.fault:
        return skill
    if data is None:
        return replace(skill, fault="It can't be read.")
    try:
        text = data.decode("utf-8-sig")
        if "\0" in text:
            return replace(skill, fault="It holds NUL characters, so it is no text.")
        fields, body = front_matter.split(text)
        return _filled(skill, fields, body)
    except UnicodeDecodeError:
        return replace(skill, fault="It is not UTF-8.")
    except front_matter.FrontMatterError as error:
        return replace(skill, text=text, fault=str(error))


def _filled(skill: Skill, fields: Mapping[str, Any], body: str) -> Skill:
    given = fields.get("name")
    name = given if isinstance(given, str) and _NAME.fullmatch(given) else skill.name
    told = fields.get("description", "")
    if not isinstance(told, str):
        raise front_matter.FrontMatterError("Its description is no text.")
    description = " ".join(told.split()) or _first_line(body)
    fault = "" if _NAME.fullmatch(name) else "Its name may hold letters, digits, “-” and “_” only, 64 at most."
    return replace(
        skill,
        name=cuts.head(name, NAME_CHARS),
        description=cuts.head(description, DESCRIPTION_CHARS),
        text=body,
        allowed=_entries(fields["allowed-tools"]) if "allowed-tools" in fields else None,
        fault=fault,
    )


def _first_line(text: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in text.split("\n"))
    return next((line for line in lines if line), "")


def _entries(value: Any) -> tuple[str, ...]:
    """Return the entries of allowed-tools: a list, or a text apart by commas or spaces that stand in no brackets."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(entry for each in value for entry in _entries(each))
    if not isinstance(value, str):
        raise front_matter.FrontMatterError("Its allowed-tools are neither a text nor a list of texts.")
    found, depth = [""], 0
    for character in value:
        depth = max(0, depth + (character == "(") - (character == ")"))
        if depth == 0 and (character == "," or character.isspace()):
            found.append("")
        else:
            found[-1] += character
    return tuple(entry for entry in re.sub(r"\0+\(", "(", "\0".join(found)).split("\0") if entry)


# --- using one ---------------------------------------------------------------------------------------


def filled_in(text: str, args: str) -> str:
    """Return the text with the arguments in the places that it has for them, else below it.

    `$ARGUMENTS` is all of them, `$1` to `$9` one word each. What is put in is never looked at again.
    """
    words = args.split()

    def put(match: "re.Match[str]") -> str:
        number = match[1] or match[2]
        if number is None:
            return args
        return words[int(number) - 1] if int(number) <= len(words) else ""

    filled, places = _PLACE.subn(put, text, count=PLACES_LIMIT)
    return filled if places or not args.strip() else f"{text.rstrip()}\n\nArguments: {args}"


def read_file(skill: Skill, given: str) -> tuple[str, str]:
    """Return the path and the text of a file in the skill's folder.

    Raises WorkspaceError: OUTSIDE_WORKSPACE past the folder, NOT_FOUND naming the files there are, TOO_LARGE,
    BINARY_FILE, UNSUPPORTED_ENCODING.
    """
    path = _resolved(skill, given)
    item = skill.inside.get(path)
    if item is None or not item.is_file:
        raise WorkspaceError("NOT_FOUND", f"{given[:200]}: the skill {skill.name} has no such file. {_there(skill)}")
    data = read_one(skill.shelf, item, path, FILE_BYTES)
    return path, encodings.decode(data, path).text


def _there(skill: Skill) -> str:
    files = skill.files
    if not files:
        return "There are no files in its folder." if skill.inside else "It is a single file without a folder."
    left_out = len(skill.inside) - 1 - NAMED
    more = f" and {left_out} more" if left_out > 0 else ""
    return f"There are: {', '.join(files[:NAMED])}{more}."


def _resolved(skill: Skill, given: str) -> str:
    """Return the path inside the skill's folder; links in it are followed as long as they stay there."""
    if not given.strip() or "\0" in given:
        raise WorkspaceError("INVALID_INPUT", "file: name a file in the skill's folder.")
    path = given
    for _ in range(LINKS_LIMIT):
        path = _inside(skill, given, path)
        link = next((part for part in _prefixes(path) if part in skill.inside and skill.inside[part].is_link), None)
        if link is None:
            return path
        target = os.fsdecode(read_one(skill.shelf, skill.inside[link], given, 4096))
        rest = path.removeprefix(link).lstrip("/")
        path = posixpath.join(posixpath.dirname(link), target, rest)
    raise WorkspaceError("INVALID_INPUT", f"{given[:200]} is a loop of links, or too many of them.")


def _inside(skill: Skill, given: str, path: str) -> str:
    normal = posixpath.normpath(path)
    if path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path) or normal.split("/")[0] == "..":
        raise WorkspaceError(
            "OUTSIDE_WORKSPACE", f"{given[:200]} is not in the folder of the skill {skill.name}. {_there(skill)}"
        )
    return normal


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))
