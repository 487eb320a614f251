"""What two trees differ in that may matter to tests: by role, with what the commands that verify use of them."""

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workspaces import globs, store
from workspaces.git import Git
from workspaces.integrity import configuration, json_files, toml_files
from workspaces.integrity.layout import Layout
from workspaces.integrity.roles import Role, role_of
from workspaces.integrity.settings import Broken
from workspaces.integrity.shadowing import Intruder, Scene, intruders
from workspaces.integrity.sides import Changed, Side, changed, folder_of, name_of
from workspaces.integrity.used import Used, reads_along, used

_GOALS = ("make", "just", "task", "tox", "nox", "rake")


@dataclass
class Matters:
    """The baseline and a given tree, side by side. `tests`: globs of tests beyond the usual ones."""

    base: Side
    now: Side
    tests: tuple[str, ...]
    verify: Sequence[str]

    @classmethod
    def of(cls, git: Git, base: str, tree: str, tests: tuple[str, ...], verify: Sequence[str]) -> "Matters":
        return cls(Side.of(git, base), Side.of(git, tree), tests, verify)

    @cached_property
    def changes(self) -> list[Changed]:
        return changed(self.base.git, self.base.tree, self.now.tree)

    @cached_property
    def used(self) -> Used:
        """What the verify commands use of the baseline."""
        return used(self.base, self.verify)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.base.entries.keys())

    @cached_property
    def scene(self) -> Scene:
        return scene(self.base, self.layout, self.used)

    @cached_property
    def intruders(self) -> list[Intruder]:
        new = [path for path in self.now.entries if path not in self.base.entries]
        return intruders(self.scene, self.now.entries.keys(), new, self.now.data)

    @cached_property
    def _links(self) -> dict[str, str]:
        """Links of the baseline that are about tests, by what they lead to: that is about tests as well."""
        found: dict[str, str] = {}
        for path, entry in self.base.entries.items():
            if entry.mode == store.LINK and (role_of(path) is not Role.OTHER or _is_tests(path)):
                size = self.base.size(path)
                if 0 < size < 4096 and len(found) < 200:
                    target = store.read_blob(self.base.git, entry.oid).decode("utf-8", "surrogateescape")
                    found[posixpath.normpath(posixpath.join(folder_of(path), target))] = path
        return found

    def role(self, path: str) -> Role:
        """Return what a file is to the tests, by its path, the links that lead to it, and the task's own globs."""
        role = role_of(path)
        if role is Role.OTHER or role is Role.MANIFEST:
            if self.tests and globs.covering(self.tests)(path):
                return Role.TEST
            for target, link in self._links.items():
                if path == target or path.startswith(f"{target}/"):
                    return role_of(link + path[len(target) :]) if path != target else role_of(link)
        return role

    def is_used(self, path: str) -> bool:
        """Return whether the verify commands run the file, or read it as their options."""
        return path in self.used.files or reads_along(self.used.read_along, path)

    def names(self, path: str) -> frozenset[str]:
        """Return the targets, scripts and so on of this file that the verify commands use."""
        return self.used.in_folder(folder_of(path))

    def counts_when_new(self, path: str) -> bool:
        """Return whether a file that the baseline doesn't have decides something of the tests that it has.

        A manifest, or a file of targets, of a project of its own that the run adds decides nothing of these.
        """
        if self.role(path) is Role.RUNNER:
            return self._runs(path)
        language = _language(path)
        if language in ("rust", ""):  # whose tests stand among the code; or any
            return language in self.layout.languages or self.layout.covers_tests(_project_of(path), "")
        return self.layout.covers_tests(_project_of(path), language)

    def _runs(self, path: str) -> bool:
        name = name_of(path).lower()
        tool = next((tool for tool in _GOALS if tool in name), "")
        if name == "tox.ini":
            return self.layout.covers_tests(folder_of(path), "python")
        return bool(self.used.programs & {tool, f"g{tool}"}) and bool(self.names(path) or tool in ("nox", "rake"))


_WITHIN = re.compile(
    r"(?:^|/)(?:\.cargo|\.mvn(?:/wrapper)?|\.config|gradle/wrapper|rakelib|buildSrc(?:/.*)?|spec/support)\Z"
)


def _project_of(path: str) -> str:
    """Return the folder whose project a file is about: that of the file, or the one above for `.cargo` and its like."""
    return _WITHIN.sub("", folder_of(path))


_LANGUAGES = (
    (re.compile(r"py|setup\.|tox|hatch|pytest|\.coverage|(?:site|user)customize|.*\.pth"), "python"),
    (
        re.compile(
            r"package\.|deno|bunfig|[tj]sconfig|vite|\.(?:npm|yarn|babel|swc)rc|babel\.|jasmine|web-test-runner"
        ),
        "javascript",
    ),
    (re.compile(r"go\."), "go"),
    (re.compile(r"Cargo|config|build\.rs|nextest|rust-toolchain"), "rust"),
    (re.compile(r"pom|.*gradle|maven|jvm|extensions"), "java"),
    (re.compile(r"Gemfile|\.rspec|.*\.rake"), "ruby"),
    (re.compile(r"composer|phpunit"), "php"),
)


def _language(path: str) -> str:
    """Return the language whose projects a manifest is of, "" where it may be any."""
    return next((language for fits, language in _LANGUAGES if fits.match(name_of(path))), "")


def scene(base: Side, layout: Layout, found: Used) -> Scene:
    """Return what new files come to, from the baseline and what the verify commands use of it."""
    return Scene(layout, _installed(base), frozenset(found.goals), frozenset(found.read_along))


_REQUIREMENT = re.compile(r"[\s\"']*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[<>=!~;@,\"'#]|$)")
_REQUIREMENTS = re.compile(r"(?:[\w-]*requirements[\w.-]*\.(?:txt|in)|constraints\.txt)\Z")


def _installed(base: Side) -> frozenset[str]:
    """Return the modules that dependencies of Python bring, as far as their names are those of the packages."""
    lines: list[str] = []
    for path in base.entries:
        if "/" not in path and _REQUIREMENTS.match(path):
            lines += base.text(path).split("\n")
    if "pyproject.toml" in base.entries:
        with suppress(Broken):
            lines += _declared(toml_files.parsed(base.text("pyproject.toml")))
    names = {found[1] for line in lines if len(line) < 500 and (found := _REQUIREMENT.match(line))}
    return frozenset(name.lower().replace("-", "_") for name in names)


def _declared(held: dict[str, Any]) -> list[str]:
    """Return the requirements that a pyproject.toml lists, as they stand."""
    poetry = json_files.table(held, "tool", "poetry", "dependencies")
    project = json_files.table(held, "project")
    groups = [
        project.get("dependencies"),
        *json_files.table(project, "optional-dependencies").values(),
        *json_files.table(held, "dependency-groups").values(),
        list(poetry),
    ]
    return [each for group in groups if isinstance(group, list) for each in group if isinstance(each, str)]


def _is_tests(path: str) -> bool:
    return role_of(f"{path}/x") is Role.TEST


def is_configuration(matters: Matters, path: str) -> bool:
    """Return whether the file, or a part of it, decides which tests run, and how."""
    role = matters.role(path)
    if role in (Role.OPTIONS, Role.RUNNER, Role.PIPELINE, Role.MANIFEST):
        return True
    if matters.is_used(path) or configuration.reader_of(path) is not None:
        return True
    return configuration.is_compared_by_lines(path) or configuration.is_checked_in_tool(path)
