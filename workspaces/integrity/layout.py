"""How a project lies at the baseline: where its tests are, from where modules are imported, what its sources are."""

import functools
from collections.abc import Collection

from workspaces.integrity.roles import Role, role_of
from workspaces.integrity.sides import folder_of, folders_above, name_of

SCRIPT_ENDINGS = ("mjs", "js", "cjs", "mts", "ts", "cts", "jsx", "tsx")
"""Code that a JavaScript test tool loads, in the order in which usual tools look for it."""
_LANGUAGES = {
    "py": "python",
    **dict.fromkeys((*SCRIPT_ENDINGS, "snap", "vue", "svelte"), "javascript"),
    **dict.fromkeys(("java", "kt", "groovy", "scala"), "java"),
    "rb": "ruby",
    "go": "go",
    "rs": "rust",
    "php": "php",
}
_ROOTS = ("", "src", "lib", "python", "app")
"""Folders from which a project's own packages are usually imported, in its folder."""
_NO_PACKAGES = frozenset(
    {"tests", "test", "docs", "doc", "examples", "scripts", "conftest", "setup", "__init__", "bin", "build"}
)


class Layout:
    """What is known of a tree of the baseline, by its paths."""

    def __init__(self, paths: Collection[str]) -> None:
        self.paths = frozenset(paths)

    @functools.cached_property
    def folders(self) -> frozenset[str]:
        return frozenset(folder for path in self.paths for folder in folders_above(path))

    @functools.cached_property
    def languages(self) -> frozenset[str]:
        return frozenset(language_of(path) for path in self.paths) - {""}

    @functools.cached_property
    def _covered(self) -> dict[str, set[str]]:
        """The folders at or above tests, by the language of these."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            language = language_of(path)
            if language and role_of(path) is Role.TEST:
                found.setdefault(language, set()).update(folders_above(path))
        return found

    def covers_tests(self, folder: str, language: str) -> bool:
        """Return whether tests of the baseline lie in the folder or below it; any language for ""."""
        if not language:
            return any(folder in folders for folders in self._covered.values())
        return folder in self._covered.get(language, ())

    @functools.cached_property
    def test_folders(self) -> frozenset[str]:
        """The folders that Python tests lie in, which pytest puts first on the path unless they are packages."""
        return frozenset(folder_of(p) for p in self.paths if language_of(p) == "python" and role_of(p) is Role.TEST)

    @functools.cached_property
    def roots(self) -> frozenset[str]:
        """The folders from which Python may import: of each project with tests the usual ones that are no package."""
        projects = {"", *(each for each in self._covered.get("python", ()) if f"{each}/__init__.py" not in self.paths)}
        return frozenset(f"{project}/{root}".strip("/") for project in projects for root in _ROOTS)

    @functools.cached_property
    def packages(self) -> dict[str, str]:
        """The project's own top-level packages and modules of Python, with the folder that each is imported from."""
        found: dict[str, str] = {}
        for path in sorted(self.paths):
            near = folders_above(path)[:2] if path.endswith(".py") and role_of(path) is not Role.TEST else []
            for root in reversed([folder for folder in near if folder in self.roots]):
                name = path[len(root) :].lstrip("/").partition("/")[0].removesuffix(".py")
                if name not in _NO_PACKAGES and name not in _ROOTS:
                    found.setdefault(name, root)
        return found

    @functools.cached_property
    def stems(self) -> dict[str, set[str]]:
        """The endings of files of JavaScript, by path without ending."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            stem, _, ending = path.rpartition(".")
            if ending in SCRIPT_ENDINGS and not stem.endswith(".d"):
                found.setdefault(stem, set()).add(ending)
        return found


def language_of(path: str) -> str:
    """Return the language of a file by its ending, "" for none that has tests."""
    name = name_of(path)
    return _LANGUAGES.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
