"""New files that are found in place of what is tested, or are loaded before it: what they would do, by their paths."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from workspaces.integrity import hiding
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.hiding import Read
from workspaces.integrity.layout import Layout
from workspaces.integrity.roles import Role, role_of
from workspaces.integrity.sides import folder_of, folders_above, name_of, told
from workspaces.integrity.used import reads_along

INTRUDERS_LIMIT = 2000


@dataclass(frozen=True)
class Intruder:
    """A new file that changes what tests do. `is_of_tests`: fine where the run may change tests."""

    path: str
    why: str
    kind: FindingKind = FindingKind.SHADOWED
    is_of_tests: bool = False
    place: str = ""
    """The folder that came as a whole, where it is told once."""

    @property
    def finding(self) -> Finding:
        return Finding(self.kind, told(self.place or self.path), self.why)


@dataclass(frozen=True)
class Scene:
    """What new files come to: the baseline, its dependencies' modules, `goals` and `read_along` (see used.Used)."""

    layout: Layout
    installed: frozenset[str] = frozenset()
    goals: frozenset[str] = frozenset()
    read_along: frozenset[str] = frozenset()


def intruders(scene: Scene, now: Collection[str], new: Iterable[str], read: Read) -> list[Intruder]:
    """Return which of the new paths change what tests do, by path, each once.

    `now`: all paths there are; `read` gives a new file's bytes, as far as they can be read.
    """
    layout = scene.layout
    surroundings = hiding.Surroundings(layout, frozenset(now), scene.installed)
    ordered = sorted(new)
    found = [*_goals(scene, ordered), *_read_along(scene, ordered), *_of_all(layout, ordered)]
    named = {each.path for each in found}
    for path in ordered:
        if path in named:
            continue
        intruder = _of_one(surroundings, path, read) or _hides(surroundings, path, read)
        if intruder is not None:
            found.append(intruder)
    return sorted(found, key=lambda each: each.path)


def _hides(surroundings: hiding.Surroundings, path: str, read: Read) -> Intruder | None:
    why = hiding.why(surroundings, path, read)
    return Intruder(path, why) if why else None


# --- loaded before the tests -------------------------------------------------------------------------

_STARTED = re.compile(r"(?:^|/)(?:site|user)customize(?:/__init__\.py|\.(?:py|pyc|so|[\w-]+\.so))\Z")
TOOLS = frozenset(
    {"pytest", "py.test", "python", "python3", "pip", "tox", "nox", "coverage", "poetry", "uv", "pdm", "hatch", "node"}
    | {
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
        "deno",
        "jest",
        "vitest",
        "mocha",
        "tsc",
        "go",
        "cargo",
        "rustc",
        "make",
        "just",
    }
    | {
        "mvn",
        "gradle",
        "java",
        "javac",
        "ruby",
        "bundle",
        "rspec",
        "rake",
        "php",
        "phpunit",
        "composer",
        "bash",
        "sh",
        "env",
    }
    | {"task", "dotnet", "ctest", "cmake", "git", "mix", "diff", "grep", "cat", "true", "test"}
)
_TOOL_FOLDERS = frozenset({"", "bin", ".bin", "node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin", ".local/bin"})
_SERVICES = re.compile(r"(?:^|/)META-INF/services/(?:org\.junit|org\.testng|org\.mockito|org\.spockframework)[\w.$]*\Z")
_ENTRY_POINTS = re.compile(r"\.(?:dist|egg)-info/entry_points\.txt\Z", re.IGNORECASE)
_SECTION = re.compile(rb"^\s*\[\s*([^\]\s]*)", re.MULTILINE)
_HELPERS = re.compile(r"(?:^|/)(?:spec/(?:spec_helper|rails_helper)|test/test_helper)\.rb\Z")


def _of_one(around: hiding.Surroundings, path: str, read: Read) -> Intruder | None:
    """Return what is wrong with a file of this name and place, if anything is."""
    layout, name, folder = around.layout, name_of(path), folder_of(path)
    if _STARTED.search(path) and "python" in layout.languages:
        return Intruder(path, "Python loads it at every start, before any test.")
    if name.endswith((".pth", ".egg-link")) and "python" in layout.languages:
        return Intruder(path, "Python reads it at its start; it changes where modules are found, or runs code.")
    if _ENTRY_POINTS.search(path) and "python" in layout.languages and _has_plugins(read(path)):
        return Intruder(
            path, "Test tools load what it names, before any test, as a plugin of theirs.", is_of_tests=True
        )
    if name.endswith((".pyc", ".pyo")) and "python" in layout.languages and not folder.endswith("__pycache__"):
        return Intruder(path, "Python runs it as it is; nobody can read what it does.")
    if name == "conftest.py" and layout.covers_tests(folder, "python"):
        return Intruder(path, "pytest loads it before tests that exist at the baseline.", is_of_tests=True)
    if name == "conftest.py" and "python" in layout.languages and _is_for_nothing(around, folder):
        return Intruder(path, "pytest loads it on its way to the tests elsewhere; here are none.", is_of_tests=True)
    if name == "__init__.py" and folder in layout.test_folders and (read(path) or b"").strip():
        return Intruder(
            path, "It is run before the tests in its folder, which exist at the baseline.", is_of_tests=True
        )
    if _HELPERS.search(path) and layout.covers_tests(folder, "ruby"):
        return Intruder(path, "It is loaded before tests that exist at the baseline.", is_of_tests=True)
    if name.removesuffix(".cmd").removesuffix(".exe") in TOOLS and folder in _TOOL_FOLDERS:
        return Intruder(path, f"It has the name of a tool, and may be run in place of the real {name}.")
    if _SERVICES.search(path):
        return Intruder(path, "The test tool loads what it names, before any test.", is_of_tests=True)
    return _options(layout, path)


_NOT_ENTERED = re.compile(r"(?:^|/)(?:\.[^/]*|build|dist|node_modules|venv|CVS|_darcs|\{arch\}|[^/]*\.egg)(?:/|\Z)")
"""Folders that pytest passes over (its `norecursedirs`)."""


def _is_for_nothing(around: hiding.Surroundings, folder: str) -> bool:
    """Return whether pytest comes through a folder in which no test is, old or new."""
    return folder not in around.tested_folders and not _NOT_ENTERED.search(folder)


def _has_plugins(data: bytes | None) -> bool:
    """Return whether entry points are of more than programs; of a file that can't be read, they may be of anything."""
    return data is None or not {match[1] for match in _SECTION.finditer(data)} <= {b"console_scripts", b"gui_scripts"}


_OPTIONS_OF = (
    (re.compile(r"(?:\.?pytest\.(?:ini|toml)|\.coveragerc)\Z"), "python"),
    (re.compile(r"\.rspec\Z"), "ruby"),
    (re.compile(r"phpunit\.xml"), "php"),
    (re.compile(r"nextest\.toml\Z"), "rust"),
    (re.compile(r"(?:junit-platform\.properties|testng.*\.xml)\Z"), "java"),
)


def _options(layout: Layout, path: str) -> Intruder | None:
    """Return whether options of a test tool, new, are those of tests that exist at the baseline."""
    if role_of(path) is not Role.OPTIONS:
        return None
    name = name_of(path)
    language = next((language for fits, language in _OPTIONS_OF if fits.match(name)), "javascript")
    folder = folder_of(path).removesuffix(".config").removesuffix("/")
    if language == "java":
        folder = re.sub(r"(?:^|/)(?:src/\w+/)?resources(?:/.*)?\Z", "", folder)
    if not layout.covers_tests(folder, language):
        return None
    why = "New options of a test tool, for tests that exist at the baseline."
    return Intruder(path, why, FindingKind.CONFIGURATION, is_of_tests=True)


def _goals(scene: Scene, new: list[str]) -> Iterator[Intruder]:
    """Yield files that stand where make would look whether a target is made."""
    goals = {goal for goal in scene.goals if goal not in scene.layout.paths and goal not in scene.layout.folders}
    for path in new if goals else ():
        goal = next((each for each in (path, *folders_above(path)) if each in goals), None)
        if goal is not None:
            yield Intruder(path, f"make takes the target {told(goal)} for made once there is a file of its name.")


def _read_along(scene: Scene, new: list[str]) -> Iterator[Intruder]:
    """Yield files that a file of targets of the baseline reads once they are there."""
    for path in new if scene.read_along else ():
        if reads_along(scene.read_along, path):
            why = "What runs the tests reads it, and it may set anything there; at the baseline it is not there."
            yield Intruder(path, why, FindingKind.CONFIGURATION, is_of_tests=True)


# --- whole folders, told once ------------------------------------------------------------------------

_FIRST = (
    ("GNUmakefile", ("makefile", "Makefile")),
    ("makefile", ("Makefile",)),
    ("justfile", (".justfile", "Justfile")),
)


def _of_all(layout: Layout, new: list[str]) -> Iterator[Intruder]:
    """Yield what is wrong with new files as part of what lies around them."""
    for path in new:
        folder, name = folder_of(path), name_of(path)
        for wins, others in _FIRST:
            hidden = next((other for other in others if f"{folder}/{other}".lstrip("/") in layout.paths), None)
            if name == wins and hidden:
                why = f"Its tool reads it in place of {hidden}."
                yield Intruder(path, why, FindingKind.CONFIGURATION, is_of_tests=True)
    yield from _brought_along(layout, new)


def _brought_along(layout: Layout, new: list[str]) -> Iterator[Intruder]:
    """Yield dependencies that are checked in anew: they are found in place of those that are installed."""
    for path in new:
        for kind, tell in (("node_modules", "package.json"), ("vendor", "go.mod")):
            at = f"/{path}".find(f"/{kind}/")
            if at < 0:
                continue
            above = path[:at].rstrip("/")
            place = f"{above}/{kind}".lstrip("/")
            if place not in layout.folders and f"{above}/{tell}".lstrip("/") in layout.paths:
                why = "The folder is new; what is in it is found in place of what is installed."
                yield Intruder(path, why, place=place)
