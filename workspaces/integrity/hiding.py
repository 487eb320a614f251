"""Modules that hide others: which new file is imported in place of one of the baseline, or of an installed one."""

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from workspaces.integrity.layout import SCRIPT_ENDINGS, Layout
from workspaces.integrity.roles import Role, role_of
from workspaces.integrity.sides import folder_of, folders_above, name_of, told

Read = Callable[[str], bytes | None]
_INSTALLED = frozenset(
    {
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "coverage",
        "hypothesis",
        "mock",
        "nose",
        "nose2",
        "xdist",
        "tox",
        "nox",
    }
    | {"pytest_asyncio", "pytest_mock", "pytest_django", "pytest_cov", "pytest_timeout", "exceptiongroup", "packaging"}
    | {"py", "freezegun", "responses", "syrupy", "testtools", "execnet", "py_test"}
)
"""What tests are run with, in Python."""
_NEVER = frozenset({"test", "this", "antigravity", "__main__", "idlelib", "turtledemo", "lib2to3", "pydoc_data"})
"""Names of the standard library that tests don't import, and projects have folders of."""
_COMPILED = re.compile(r"(.+?)(?:\.(?:cpython|pypy|abi3|cp)[\w-]*)?\.(?:so|pyd|pyc|pyo)\Z")
_RUBY = frozenset(
    {"rspec", "minitest", "test", "set", "json", "date", "time", "bigdecimal", "securerandom", "yaml", "stringio"}
)
_PYTEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py\Z")
_MOCKS = "__mocks__"


@dataclass(frozen=True)
class Surroundings:
    """What a new file lies among: the baseline, and all paths there are now."""

    layout: Layout
    now: frozenset[str]
    installed: frozenset[str] = frozenset()
    """Modules of Python that the project's dependencies bring."""

    @functools.cached_property
    def folders_now(self) -> frozenset[str]:
        return Layout(self.now).folders

    @functools.cached_property
    def tested_folders(self) -> frozenset[str]:
        """The folders at or above Python tests, old or new, as pytest finds them."""
        return frozenset(folder for path in self.now if _PYTEST.search(path) for folder in folders_above(path))

    def kept(self, path: str) -> bool:
        """Return whether the baseline has the file, and it is still there."""
        return path in self.layout.paths and path in self.now


def why(around: Surroundings, path: str, read: Read) -> str:
    """Return why a new file is found in place of another, "" where it isn't."""
    if "python" in around.layout.languages:
        found = (
            _compiled(around, path, read)
            or _package(around, path)
            or _library(around, path)
            or _copy(around, path, read)
        )
        if found:
            return found
    return _script(around, path) or _mock(around, path) or _ruby(around, path)


# --- Python ------------------------------------------------------------------------------------------


def _compiled(around: Surroundings, path: str, read: Read) -> str:
    found = _COMPILED.fullmatch(path)
    if found is None:
        return ""
    if folder_of(path).endswith("__pycache__"):
        return _unchecked(path, read)
    if f"{found[1]}.py" in around.layout.paths:
        return f"Python may load it in place of {told(found[1])}.py."
    return ""


def _unchecked(path: str, read: Read) -> str:
    """Return what is wrong with a cache that Python loads without a look at the source (PEP 552: flags 0b01)."""
    head = (read(path) or b"")[:8]
    if len(head) < 8 or not path.endswith(".pyc") or head[4] & 0b11 != 0b01:
        return ""
    return "Python loads this cache in place of the source, whatever that says."


def _package(around: Surroundings, path: str) -> str:
    """Return whether a package hides a module beside it, or the other way round."""
    if path.endswith("/__init__.py"):
        module = f"{folder_of(path)}.py"
        return (
            f"It hides {told(module)}: of a package and a module Python takes the package."
            if around.kept(module)
            else ""
        )
    if path.endswith(".py"):
        folder = path.removesuffix(".py")
        if around.kept(f"{folder}/__init__.py"):
            return f"It stands beside the package {told(folder)}; one of the two hides the other."
        if folder in around.layout.folders and folder in around.folders_now and _holds_modules(around, folder):
            return f"It hides the package {told(folder)}, which has no __init__.py."
    return ""


def _holds_modules(around: Surroundings, folder: str) -> bool:
    return any(path.startswith(f"{folder}/") and path.endswith(".py") for path in around.layout.paths)


def _importable(path: str) -> tuple[str, str]:
    """Return the folder from which a file is imported if it begins a module there, and that module's name."""
    if path.endswith("/__init__.py"):
        path = folder_of(path)
    name = name_of(path)
    return folder_of(path), name.removesuffix(".py")


def _is_on_path(around: Surroundings, folder: str) -> bool:
    """Return whether modules are imported from the folder: it is no package, and tests or sources lie in it."""
    if f"{folder}/__init__.py" in around.layout.paths or f"{folder}/__init__.py" in around.now:
        return False
    return folder in around.layout.roots or folder in around.layout.test_folders


def _library(around: Surroundings, path: str) -> str:
    """Return whether a module has the name of one of the standard library, or of what tests are run with."""
    places = [_importable(path)] if path.endswith(".py") else []
    top, _, rest = path.partition("/")
    places += [("", top)] if rest and path.endswith(".py") else []
    for folder, name in places:
        if not _is_on_path(around, folder) or name in _NEVER or _is_known(around, folder, name):
            continue
        if name in _INSTALLED or name.lower() in around.installed:
            return f"It is imported in place of the installed {name}, which the project or its tests use."
        if name in sys.stdlib_module_names:
            return f"It is imported in place of the standard library's {name}."
    return ""


def _is_known(around: Surroundings, folder: str, name: str) -> bool:
    """Return whether the baseline has the module there already."""
    place = f"{folder}/{name}".lstrip("/")
    return f"{place}.py" in around.layout.paths or place in around.layout.folders


def _copy(around: Surroundings, path: str, read: Read) -> str:
    """Return whether a file is a second one of a package of the project, in a place that is looked at before."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        name, folder = part.removesuffix(".py"), "/".join(parts[:at])
        root = around.layout.packages.get(name)
        if root is None or root == folder or _is_known(around, folder, name) or not _comes_first(around, folder, root):
            continue
        original = "/".join([*([root] if root else []), *parts[at:]])
        is_whole = len(parts) == at + 1 and ("." not in part or part.endswith(".py"))
        if is_whole or _stands_for(around, path, original, read):
            return f"It may be imported in place of {told(original if original in around.layout.paths else name)}."
    return ""


def _comes_first(around: Surroundings, folder: str, root: str) -> bool:
    is_of_tests = folder in around.layout.test_folders or (folder and role_of(f"{folder}/x") is Role.TEST)
    return bool(is_of_tests) or (root != folder and f"{root}/".startswith(f"{folder}/".lstrip("/")))


def _stands_for(around: Surroundings, path: str, original: str, read: Read) -> bool:
    """Return whether the file is one that the package has; a new, empty __init__.py alone hides nothing on purpose."""
    if not path.endswith(".py") or original not in around.layout.paths:
        return False
    return not path.endswith("__init__.py") or bool((read(path) or b"").strip())


# --- JavaScript and Ruby -----------------------------------------------------------------------------


def _script(around: Surroundings, path: str) -> str:
    """Return whether a module is found before one of the same name with another ending, or before a folder's index."""
    stem, _, ending = path.rpartition(".")
    if ending not in SCRIPT_ENDINGS or role_of(path) is Role.TEST or stem.endswith(".d"):
        return ""
    for other in sorted(around.layout.stems.get(stem, ()), key=SCRIPT_ENDINGS.index):
        if SCRIPT_ENDINGS.index(ending) < SCRIPT_ENDINGS.index(other) and around.kept(f"{stem}.{other}"):
            return f"It is found in place of {told(name_of(stem))}.{other} beside it."
    for other in around.layout.stems.get(f"{stem}/index", ()):
        if around.kept(f"{stem}/index.{other}"):
            return f"It is found in place of {told(stem)}/index.{other}."
    return ""


def _mock(around: Surroundings, path: str) -> str:
    """Return whether a file is what test tools take in place of a module: beside it, or at the root of all."""
    parts = path.split("/")
    if _MOCKS not in parts[:-1] or "javascript" not in around.layout.languages:
        return ""
    at = parts.index(_MOCKS)
    folder, inner = "/".join(parts[:at]), "/".join(parts[at + 1 :])
    original = f"{folder}/{inner.rpartition('.')[0]}".lstrip("/")
    if original in around.layout.stems or f"{original}/index" in around.layout.stems:
        return f"Test tools may take it in place of {told(original)}."
    if f"{folder}/package.json".lstrip("/") in around.layout.paths and inner.rpartition(".")[0] not in (
        "file",
        "style",
        "fileMock",
        "styleMock",
    ):
        return f"Test tools take it in place of the installed {told(inner.rpartition('.')[0])}."
    return ""


def _ruby(around: Surroundings, path: str) -> str:
    folder, name = folder_of(path), name_of(path)
    is_library = name.endswith(".rb") and name.removesuffix(".rb") in _RUBY and folder in ("lib", "spec", "test")
    if "ruby" in around.layout.languages and is_library:
        return f"It is loaded in place of the installed {name.removesuffix('.rb')}."
    return ""
