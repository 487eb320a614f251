"""A repository's policy file as people work on it: how it stands, what a text would do, a new one proposed."""

import itertools
import posixpath
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from django.contrib.auth.models import User

from agents import masks, policies, policy
from agents.access import demand
from agents.control import Refused
from agents.models import Agent, Policy, Role
from agents.policies import FILE_BYTES, PATH, FilePolicy, PolicyFault
from agents.protected import REPOSITORY, folded, rule_of
from agents.rules import Decision
from agents.wording import WHOSE, author, who
from workspaces import cuts, odd, proposing, sources, store
from workspaces.git import Git, GitError
from workspaces.integrity import roles
from workspaces.models import Repository
from workspaces.names import shown
from workspaces.proposing import Proposal
from workspaces.sources import SourceError

STEM = "sakura/policy"
"""Proposals are branches of this name with a number."""
TRIES = 50
TRY_LENGTH = 2000
LISTING_BYTES = 32 * 1024 * 1024
"""Bytes of the list of a tree's paths that are looked at."""
FIRST = 50
KEPT_S = 3.0
"""How long the tests that a policy keeps are counted; a page waits for it."""
TRIED_S = 5.0
"""How long tries go on; a hostile file's globs and a deep path can make each take long."""
DEEPEST = 100
"""Folders of a path that is tried."""
REFRESH_S = 30

EXAMPLE = """\
# What agents may do in this repository. It is read at the base of each task, so no
# agent changes its own rules. A task is asked first, then this file, then the defaults.

# Commands that must pass before work counts as done.
# verify = ["pytest -q"]

# Paths that no agent writes, beside the usual ones: existing tests, CI, .sakura and
# what runs by itself.
# protected = ["docs/legal/**", "migrations/**"]

# Paths that no agent sees.
# hidden = ["secrets/**"]

# Further files that count as tests.
# tests = ["checks/**"]

# Rules, asked in this order; the first that fits decides.
# rules = [
#   "allow effect:WRITE path:.github/workflows/docs.yml",
#   "deny command:npm publish *",
# ]
"""
"""What the page offers where a repository has no policy file; it says nothing that holds."""

Kind = Literal["read", "write", "command", "host"]
KINDS: tuple[Kind, ...] = get_args(Kind)


# --- how it stands ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """The file at the head of the default branch. `text`: None without one; of a large one only the beginning.

    `unread`: why nothing of the repository can be read. `faults`: what is wrong with the file, so that no task starts;
    `notes`: what of it is ignored. `blob`: its object, "" without a file. `in_the_way`: what stands in its place.
    """

    commit: str = ""
    blob: str = ""
    text: str | None = None
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    in_the_way: str = ""
    unread: str = ""

    @property
    def state(self) -> Literal["unread", "broken", "none", "valid"]:
        if self.unread:
            return "unread"
        if self.faults:
            return "broken"
        return "none" if self.text is None else "valid"


def look(repository: Repository) -> Standing:
    """Return how the policy file stands at the head of the default branch. It raises nothing; up to four gits."""
    if repository.status != Repository.Status.READY:
        is_failed = repository.status == Repository.Status.FAILED
        return Standing(unread="Its mirror could not be made." if is_failed else "It is being mirrored.")
    try:
        commit = sources.resolve(repository, "")
        return _at(repository, commit)
    except (SourceError, GitError) as error:
        return Standing(unread=cuts.head(f"Its mirror can't be read: {error}", 1000))


def _at(repository: Repository, commit: str) -> Standing:
    git = Git(repository.mirror)
    found = proposing.find(git, commit, PATH)
    if found.is_in_the_way(PATH):
        is_folder = found.mode == proposing.FOLDER
        what = "a folder" if is_folder else "no folder, and no link is followed"
        sentence = f"{found.path} is {what}: no policy is read from it. Remove it in the source first."
        return Standing(commit, found.oid, faults=(sentence,), in_the_way=sentence)
    text = None
    if found.is_file(PATH):
        data = store.read_head(git, found.oid, FILE_BYTES)
        text = one_ending(data.decode("utf-8-sig", errors="replace"))
    try:
        notes = policies.at(repository, commit).notes()
    except PolicyFault as fault:
        return Standing(commit, found.oid, text, faults=tuple(fault.sentences))
    return Standing(commit, found.oid, text, notes=tuple(notes))


def one_ending(text: str) -> str:
    """Return the text with lines that end as a page sends them back, in the form that is compared and proposed."""
    return text.replace("\r\n", "\n")


# --- what a text would do --------------------------------------------------------------------------


def check(text: str) -> FilePolicy:
    """Return what a text says. Raises PolicyFault, also for one that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise PolicyFault([f"Line {line}: it holds half of a character; delete it."]) from None
    return policies.read_file(text)


@dataclass(frozen=True)
class Try:
    """What somebody wants to know the answer for."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Outcome:
    """What a try would get."""

    tried: Try
    decision: Decision

    @property
    def whose(self) -> str:
        return _WHOSE.get(self.decision.source, self.decision.source)

    @property
    def why(self) -> str:
        """The reason as a sentence."""
        why = self.decision.why.strip()
        return f"{why[:1].upper()}{why[1:]}{'' if why.endswith(('.', '!', '?')) or not why else '.'}"


def read_try(line: str) -> Try:
    """Return what a line such as `write docs/a.md` asks for. Raises ValueError, with what is wrong."""
    word, _, rest = line.strip().partition(" ")
    kind = next((kind for kind in KINDS if kind == word.casefold()), None)
    if kind is None:
        shown_word = odd.spelled(word[:40])
        raise ValueError(f"begin with read, write, command or host, as in `write tests/test_x.py`; not “{shown_word}”.")
    if not rest.strip():
        raise ValueError(f"say what, as in `{_LIKE[kind]}`.")
    if len(rest) > TRY_LENGTH:
        raise ValueError(f"it has {len(rest):,} characters; at most {TRY_LENGTH:,} are taken.")
    if kind in ("read", "write") and rest.count("/") > DEEPEST:
        raise ValueError(f"it has more than {DEEPEST} folders.")
    return Try(kind, rest.strip())


_WHOSE = WHOSE | {REPOSITORY: "this file"}
_LIKE: dict[Kind, str] = {
    "read": "read .env",
    "write": "write tests/test_x.py",
    "command": "command rm -rf build",
    "host": "host packages.example.org:443",
}


def tried(repository: Repository, commit: str, file: FilePolicy, wanted: Sequence[Try]) -> list[Outcome]:
    """Return what each would get on a task that adds no rules of its own; those that take too long are left out.

    Nothing is done. Raises Refused.
    """
    rules = policies.of_task(Policy(), file, repository.verify)
    try:
        paths = _paths(repository.mirror, commit)[0]
    except GitError as error:
        raise Refused("GIT", f"The files of the default branch can't be read: {error}") from error
    near = _near(paths, [each.text for each in wanted if each.kind == "write"])
    until = time.monotonic() + TRIED_S
    found: list[Outcome] = []
    for each in wanted[:TRIES]:
        if time.monotonic() > until:
            break
        found.append(Outcome(each, policy.trial(rules, near, each.text, each.kind)))
    return found


def _near(paths: Collection[str], wanted: Sequence[str]) -> frozenset[str]:
    """Return those of a tree's paths that one of the wanted is, or lies below: all that their trial can ask for."""
    known: set[str] = set()
    for text in wanted:
        path = posixpath.normpath(folded(text).removeprefix("/workspace/").lstrip("/"))
        known.update(itertools.accumulate(path.split("/"), "{}/{}".format))
    return frozenset(path for path in paths if folded(path) in known) if known else frozenset()


def _paths(mirror: Path, commit: str) -> tuple[list[str], bool]:
    """Return the paths of a tree, as they are shown, and whether that is all of them."""
    out = Git(mirror).head("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, limit_bytes=LISTING_BYTES)
    return [shown(path) for path in out.split(b"\0")[:-1]], len(out) < LISTING_BYTES


@dataclass(frozen=True)
class Kept:
    """The tests that no agent may change: how many, the first of them, and whether all files were looked at."""

    count: int
    first: tuple[str, ...]
    is_whole: bool


def kept(repository: Repository, standing: Standing, text: str) -> Kept | None:
    """Return which tests of the default branch a text keeps from being changed; None where that can't be read."""
    if standing.unread:
        return None
    try:
        return _kept(repository.mirror, standing.commit, text)
    except (PolicyFault, GitError):
        return None


@lru_cache(maxsize=32)
def _kept(mirror: Path, commit: str, text: str) -> Kept:
    rules = policies.of_task(Policy(), check(text))
    paths, is_whole = _paths(mirror, commit)
    until = time.monotonic() + KEPT_S
    found: list[str] = []
    asked = policy.rules_for(rules, Agent.IMPLEMENTER, paths)
    for path in paths:
        if time.monotonic() > until:
            is_whole = False
            break
        is_test = roles.role_of(path) in (roles.Role.TEST, roles.Role.OPTIONS) or rule_of(path, rules.tests)
        if is_test and asked.protection(path):
            found.append(path)
    return Kept(len(found), tuple(found[:FIRST]), is_whole)


# --- proposing -------------------------------------------------------------------------------------


def propose(repository: Repository, user: User, text: str, seen: str | None = None) -> Proposal:
    """Push the text as the policy file on a new branch of the source, on top of its default branch.

    `seen`: the blob of the file that the person began from, None to take whatever stands there now. It asks the source
    for news first; in all it takes up to two and a half minutes. Raises Refused, and PolicyFault for a broken text.
    """
    demand(user, Role.OPERATOR)
    text = one_ending(text)
    check(text)
    if repository.status != Repository.Status.READY:
        raise Refused("NOT_READY", f"“{repository.name}” is not ready: its mirror has to be made first.")
    if not sources.refresh(repository, REFRESH_S):
        raise Refused(
            "SOURCE_UNAVAILABLE", f"The source of “{repository.name}” did not answer. {repository.error}", 502
        )
    standing = look(repository)
    _must_be_new(standing, text, seen)
    _must_hold_no_secret(repository, text)
    try:
        return proposing.propose(
            repository,
            standing.commit,
            PATH,
            _as_there(repository, standing, text),
            stem=STEM,
            message=_message(standing, user),
            author=author(user),
        )
    except SourceError as error:
        raise Refused(error.code, f"Nothing was proposed. {error}") from error
    except GitError as error:
        raise Refused("GIT", f"Nothing was proposed: git could not make the commit ({error}).") from error
    except TimeoutError:
        raise Refused("BUSY", "Somebody else is proposing right now; try again in a moment.") from None


def _must_be_new(standing: Standing, text: str, seen: str | None) -> None:
    if standing.unread or standing.in_the_way:
        raise Refused("IN_THE_WAY", standing.unread or standing.in_the_way)
    if seen is not None and seen != standing.blob:
        raise Refused(
            "STALE", "The file changed at the source since you opened this page. Compare, then propose again."
        )
    if standing.text is None and text.strip() == EXAMPLE.strip():
        raise Refused("UNCHANGED", "This is the example, of which nothing holds yet; take out a # first.", 422)
    if standing.state == "valid" and text.rstrip("\n") == (standing.text or "").rstrip("\n"):
        raise Refused("UNCHANGED", "The text is what stands there already; change it first.", 422)


def _must_hold_no_secret(repository: Repository, text: str) -> None:
    if names := masks.of_repository(repository.pk).names_in(text.encode()):
        found = ", ".join(sorted(names)[:5])
        raise Refused("SECRET_FOUND", f"A secret of “{repository.name}” stands in the text: {found}. Take it out.", 422)


def _as_there(repository: Repository, standing: Standing, text: str) -> bytes:
    """Return the bytes of the text, with a last line end, and with the line ends that the file has now."""
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    if standing.text is None:
        return whole.encode()
    before = store.read_head(Git(repository.mirror), standing.blob, FILE_BYTES)
    has_other = b"\r\n" in before and before.count(b"\r\n") == before.count(b"\n")
    return (whole.replace("\n", "\r\n") if has_other else whole).encode()


def _message(standing: Standing, user: User) -> str:
    verb = "Add" if standing.text is None else "Change"
    return f"{verb} {PATH}\n\nProposed on Sakura by {who(user)}.\n"
