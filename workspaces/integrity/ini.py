"""INI files of test tools, read line by line as those tools do: sections, keys, values that go on below."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from workspaces.integrity.settings import Setting, cut

_SECTION = re.compile(r"\[([^\]]*)\]\s*(?:[#;].*)?$")
_KEY = re.compile(r"([^\s=:#;\[][^=:]*)[=:]\s?(.*)$")
_WORDS = frozenset({"addopts", "testpaths", "python_files", "python_classes", "python_functions", "norecursedirs"})
"""Keys whose values are words, wherever their lines break."""


@dataclass
class Entry:
    """A key below its section, from its first line to its last."""

    section: str
    key: str
    lines: list[str]
    first: int
    last: int
    raw: list[str]

    @property
    def value(self) -> str:
        kept = [" ".join(line.split()) for line in self.lines if line.strip()]
        return (" " if self.key in _WORDS else "\n").join(kept)


def entries(text: str) -> Iterator[Entry]:
    """Yield the keys of a file, in order; what stands before the first section has the section ""."""
    section, current = "", None
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if current is not None and line[0] in " \t":
            current.lines.append(stripped)
            current.raw.append(line)
            current.last = number
            continue
        if current is not None:
            yield current
            current = None
        if head := _SECTION.match(stripped):
            section = head[1].strip()
        else:
            found = _KEY.match(stripped)
            key, value = (found[1], found[2]) if found else (stripped, "")
            current = Entry(section, key.strip(), [value], number, number, [line])
    if current is not None:
        yield current


def settings(text: str, wanted: Callable[[str, str], bool]) -> dict[str, Setting]:
    """Return the settings of the sections and keys that are wanted; a key that is there twice has both values."""
    found: dict[str, list[Entry]] = {}
    for each in entries(text):
        if wanted(each.section, each.key):
            found.setdefault(f"[{each.section}] {each.key}", []).append(each)
    return {name: _setting(name, held) for name, held in found.items()}


def _setting(name: str, held: Sequence[Entry]) -> Setting:
    value = "\n".join(each.value for each in held)
    first, last = held[0], held[-1]
    return Setting(name, value, first.first, last.last, cut("\n".join(last.raw)), home=f"[{first.section}]")


# --- which files want what ---------------------------------------------------------------------------

_OF_TESTS = re.compile(r"(?:tool:)?pytest|aliases|test|unittest|nosetests|coverage:(?:run|report|paths)|tool:nox")
_NO_TESTS = re.compile(
    r"flake8|isort|mypy.*|pycodestyle|pydocstyle|pylint.*|pep8|black|ruff.*|bandit|yapf|doc8|check-manifest|coverage:html"
)
_INSTALLS = frozenset({"deps", "extras", "description", "labels", "requires", "minversion", "min_version"})
_CHECKS = re.compile(r"testenv:(?:.*\b)?(?:docs?|lint|format|fmt|style|typing|types|mypy|build|release|package)\b")


def pytest_ini(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(text, lambda section, key: True)


def coveragerc(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(text, lambda section, key: section in ("run", "report", "paths"))


def setup_cfg(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return settings(
        text,
        lambda section, key: (
            _OF_TESTS.fullmatch(section) is not None
            or (section == "options" and key in ("test_suite", "package_dir"))
            or (section == "options.entry_points" and key == "pytest11")
        ),
    )


def tox_ini(text: str, used: frozenset[str]) -> dict[str, Setting]:
    found = settings(text, lambda section, key: not _NO_TESTS.fullmatch(section) and key not in _INSTALLS)
    return {
        name: each
        for name, each in found.items()
        if not _CHECKS.match(name[1:].partition("]")[0]) or name[9:].partition("]")[0] in used
    }


def properties(text: str, wanted: Callable[[str], bool]) -> dict[str, Setting]:
    """Return the settings of a file of `key = value` lines, such as .npmrc."""
    return settings(text, lambda section, key: wanted(key))


def gradle_properties(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return properties(text, lambda key: re.search(r"(?i)test|skip|exclude", key) is not None)


def npmrc(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return properties(text, lambda key: key in ("script-shell", "node-options", "scripts-prepend-node-path", "shell"))


def yarnrc(text: str, _: frozenset[str]) -> dict[str, Setting]:
    return properties(
        text, lambda key: key.strip("\"'") in ("yarnPath", "yarn-path", "script-shell", "injectEnvironmentFiles")
    )
