"""Which paths no agent writes by default: what instructs agents, what runs by itself, tests that exist at the base."""

import itertools
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from workspaces import globs, names
from workspaces.integrity.roles import Role, role_of
from workspaces.paths import is_git

NEVER_WRITTEN = ("**/.sakura/**",)
"""Instructions to agents: an agent reads them, people write them."""

_TOOLS = (".vscode", ".idea", ".claude", ".cursor", ".husky", ".devcontainer", ".githooks")
_SHELLS = "bashrc bash_profile bash_login bash_logout profile zshrc zshenv zprofile zlogin"
_BUILDS = (
    ".gitlab-ci.yml",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
)
_BUILD_FOLDERS = (".github/workflows", ".github/actions", ".circleci", ".woodpecker", ".buildkite")
WRITTEN_IF_TASK_SAYS = (
    *(f"**/{folder}/**" for folder in _TOOLS),
    *(".gitconfig", ".gitmodules", ".envrc", ".pre-commit-config.yaml"),
    *(f".{name}" for name in _SHELLS.split()),
    *(f"{folder}/**" for folder in _BUILD_FOLDERS),
    *_BUILDS,
)
"""What runs by itself on a person's machine, or with the project's rights, once the work is merged."""
_ABOVE_BUILDS = tuple(dict.fromkeys(f"{folder.partition('/')[0]}/." for folder in _BUILD_FOLDERS if "/" in folder))
"""A file or a link in place of what such folders lie in."""

DEFAULTS, TASK, REPOSITORY, INSTALLATION = "defaults", "task", "repository", "installation"
"""Whose a rule is."""
EXISTING_TESTS, TEST_OPTIONS = "existing tests", "options of test tools"
LEAVE = "Leave the file as it is and say so in your summary."
WRITE_A_NEW_ONE = (
    "Write a new test in a file of its own, or say in your summary why this one is wrong; people decide on it."
)
_RUNS_BY_ITSELF = "it runs by itself once the work is merged, so the task must allow it"


@dataclass(frozen=True)
class Protection:
    """Why a path is not written: the rule, whose it is, a reason in words, and what the agent may do instead."""

    rule: str
    source: str
    why: str
    instead: str = LEAVE


GIT = Protection(".git", DEFAULTS, "file tools leave a repository's own files alone")


def never(path: str) -> Protection | None:
    """Return what keeps a path from being written whatever any rule says."""
    if is_git(path):
        return GIT
    if rule := rule_of(f"{path}/.", NEVER_WRITTEN):
        return Protection(rule, DEFAULTS, "agents read it, people write it")
    return None


def by_itself(path: str) -> Protection | None:
    """Return what protects a path because it runs by itself on people's machines or in a pipeline.

    What stands in place of such a folder, such as a link to another one, is protected as what is in it.
    """
    rule = rule_of(f"{path}/.", (*WRITTEN_IF_TASK_SAYS, *_ABOVE_BUILDS))
    return Protection(rule, DEFAULTS, _RUNS_BY_ITSELF) if rule else None


def rule_of(path: str, rules: tuple[str, ...]) -> str | None:
    """Return the first rule that covers the path; that none does, as for nearly all, is one regex's word."""
    if not rules or not globs.covering(rules)(path):
        return None
    return next((rule for rule in rules if globs.matches(rule, path)), None)


class Baseline:
    """The paths of a task's base, in any letter case: which tests exist, what lies below a folder."""

    def __init__(self, paths: Collection[str], tests: tuple[str, ...] = (), *, keeps_tests: bool = True) -> None:
        self._paths = paths
        self._tests = tests
        """Globs of tests beyond the usual ones."""
        self._keeps_tests = keeps_tests

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(map(folded, self._paths))

    def test(self, path: str) -> Protection | None:
        """Return what protects a path that is, or stands in the way of, a test that exists at the base."""
        if not self._keeps_tests:
            return None
        there = next((each for each in (path, *_above(path)) if folded(each) in self._files), None)
        if there is None:
            return None
        if glob := rule_of(there, self._tests):
            return Protection(
                glob, REPOSITORY, "the repository counts it as a test, and it exists at the base", WRITE_A_NEW_ONE
            )
        match role_of(there):
            case Role.TEST:
                why = "it exists at the base, and what it checks is not the work's to change"
                return Protection(EXISTING_TESTS, DEFAULTS, why, WRITE_A_NEW_ONE)
            case Role.OPTIONS:
                why = "it exists at the base and decides which tests run, and how"
                return Protection(TEST_OPTIONS, DEFAULTS, why)
        return None

    @cached_property
    def _in_order(self) -> list[str]:
        return sorted(self._files)

    def below(self, path: str) -> Iterator[str]:
        """Yield the files of the base, in small letters, below a folder that it has; none for any other path."""
        folder = f"{folded(path)}/"
        start = bisect_left(self._in_order, folder)
        yield from itertools.takewhile(
            lambda each: each.startswith(folder), itertools.islice(self._in_order, start, None)
        )


def folded(path: str) -> str:
    """Return what two paths share that are one file where letter case, or the coding of accents, counts for nothing."""
    return unicodedata.normalize("NFC", names.shown(path)).casefold()


def _above(path: str) -> list[str]:
    """Return the folders that a path lies in, nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
