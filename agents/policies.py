"""The policy that applies to a run: the task's, the repository's `.sakura/policy.toml` at the base, its settings."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Self

from django.utils.text import capfirst
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agents.blocklist import BadRule
from agents.models import Policy, Run
from agents.models.task import STORED, Glob, OrderedRule
from agents.models.task import Rule as BlockRule
from agents.protected import REPOSITORY, TASK
from agents.rules import Layer, read, readable
from agents.rules import Rule as CallRule
from workspaces import odd, proposing, store, targets
from workspaces.git import Git
from workspaces.models import Repository, Workspace
from workspaces.names import shown

PATH = ".sakura/policy.toml"
FILE_BYTES = 64 * 1024
GLOBS_WEIGHT = 200_000
"""Characters that all globs of a file may come to with their braces written out: more would take long to hold."""
DOTS_IN_LINE = 200
"""A key of thousands of parts takes a TOML parser minutes."""
SENTENCES = 20
SETTINGS, BOTH = "settings", "both"
ONLY_A_TASK = "only a task opens the network, so this is ignored; who launches one can add the host."
_LISTS = ("protected", "unprotected", "hidden", "secrets_allowed", "blocklist")
"""What the task's policy and the file add up to."""

Command = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000, pattern="^[^\\x00]*$")]


class PolicyFault(Exception):
    """What is wrong in a policy file, in sentences; each has its line or key."""

    def __init__(self, sentences: Sequence[str]) -> None:
        kept = [odd.spelled(sentence) for sentence in sentences[:SENTENCES]]
        more = len(sentences) - len(kept)
        self.sentences = [*kept, *([f"And {more} more faults."] if more else [])]
        super().__init__(f"{PATH}: {' '.join(self.sentences)}")


class FilePolicy(BaseModel):
    """What `.sakura/policy.toml` may hold. It narrows, and allows what stays in the sandbox; it opens no network."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verify: list[Command] = Field(default_factory=list, max_length=20)
    protected: list[Glob] = Field(default_factory=list, max_length=200)
    unprotected: list[Glob] = Field(default_factory=list, max_length=200)
    hidden: list[Glob] = Field(default_factory=list, max_length=200)
    secrets_allowed: list[Glob] = Field(default_factory=list, max_length=200)
    blocklist: list[BlockRule] = Field(default_factory=list, max_length=200)
    rules: list[OrderedRule] = Field(default_factory=list, max_length=200)
    tests: list[Glob] = Field(default_factory=list, max_length=200)
    may_change_tests: bool | None = None

    def notes(self) -> list[str]:
        """Return what of the file is ignored, and why, in sentences."""
        return [
            odd.spelled(f"`rules[{number}]` (`{line}`): {ONLY_A_TASK}")
            for number, line in enumerate(self.rules)
            if _opens(line)
        ]


def _opens(line: str) -> bool:
    rule = read(line)
    return rule.allow and rule.is_of_network


# --- reading the file ------------------------------------------------------------------------------


def read_file(text: str) -> FilePolicy:
    """Return what the text of a policy file says. Raises PolicyFault."""
    data = _toml(text.removeprefix("\ufeff"))
    if weight := _too_heavy(data):
        raise PolicyFault([weight])
    try:
        return FilePolicy.model_validate(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        raise PolicyFault([_sentence(fault["loc"], fault["type"], fault["msg"]) for fault in faults]) from None


def _toml(text: str) -> dict[str, Any]:
    size = len(text.encode(errors="surrogatepass"))
    if size > FILE_BYTES:
        raise PolicyFault([f"It has {size:,} bytes; at most {FILE_BYTES:,} are taken."])
    dotted = (number for number, line in enumerate(text.split("\n"), 1) if line.count(".") > DOTS_IN_LINE)
    if number := next(dotted, 0):
        raise PolicyFault([f"Line {number} has more than {DOTS_IN_LINE} dots; write several shorter ones."])
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyFault([_placed(str(error))]) from None
    except RecursionError:
        raise PolicyFault(["It is nested too deep; a policy has lists of texts only."]) from None
    except ValueError as error:  # such as a number of thousands of digits
        raise PolicyFault([f"It can't be read: {error}."]) from None


def _placed(message: str) -> str:
    """Return a parser's message as a sentence that begins with the line."""
    found = re.fullmatch(r"(.*) \(at (line \d+, column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return f"{message}."
    return f"{'At the end of the file' if found[2].startswith('end') else capfirst(found[2])}: {found[1]}."


def _too_heavy(data: dict[str, Any]) -> str:
    """Return what is wrong where the globs stand for more text than can be held against many paths."""
    weight = 0
    for key, value in data.items():
        for text in value if isinstance(value, list) else ():
            weight += _weight(text) if isinstance(text, str) else 0
            if weight > GLOBS_WEIGHT:
                return f"`{key}`: with their braces written out, the globs come to too much; write fewer {{a,b}}."
    return ""


def _weight(text: str) -> int:
    """Return at most how many characters a glob has once its braces are written out."""
    counts, choices = [1], [0]
    for character in text:
        if character == "{":
            counts.append(1)
            choices.append(0)
        elif character == "," and len(counts) > 1:
            choices[-1] += counts[-1]
            counts[-1] = 1
        elif character == "}" and len(counts) > 1:
            inner = counts.pop() + choices.pop()
            counts[-1] = min(counts[-1] * inner, GLOBS_WEIGHT + 1)
    return len(text) * sum(counts)


def _sentence(where: Sequence[int | str], kind: str, message: str) -> str:
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")[:200]
    if kind == "extra_forbidden":
        there = ", ".join(FilePolicy.model_fields)
        return f"`{key}`: there is no such key. The keys are: {there}."
    plain = {"string_type": "This must be a text in quotes", "list_type": 'This must be a list, as in ["docs/**"]'}
    plain |= {"bool_type": "This must be true or false"}
    said = plain.get(kind, message.removeprefix("Value error, "))
    return f"`{key}`: {said}{'' if said.endswith(('.', '!', '?')) else '.'}"


def in_tree(repository: Repository, commit: str) -> str | None:
    """Return the policy file's text at a commit of the mirror, None without one. Raises PolicyFault, GitError."""
    git = Git(repository.mirror)
    entry = store.entry(git, commit, PATH.encode())
    if entry is None:
        if (found := proposing.find(git, commit, PATH)).is_in_the_way(PATH):
            raise PolicyFault([f"`{found.path}` stands where a folder or the file should be, so it can't be read."])
        return None
    if entry.mode not in (store.FILE, store.EXECUTABLE):
        raise PolicyFault(["It is no plain file; write the policy into the file itself."])
    data = store.read_head(git, entry.oid, FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise PolicyFault([f"It has more than {FILE_BYTES:,} bytes, and no more are taken."])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyFault([f"It is not UTF-8 (byte {error.start})."]) from None


def at(repository: Repository, commit: str) -> FilePolicy:
    """Return the repository's own policy at a commit, an empty one without a file. Raises PolicyFault, GitError."""
    text = in_tree(repository, commit)
    return FilePolicy() if text is None else read_file(text)


# --- what applies ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Applied:
    """The policy that applies, merged, with whose each part is.

    `rules`: each line with its source, in the order in which they are asked; `policy.rules` has the same lines.
    `sources`: of each field of the policy that is not empty: task, repository, settings or both. `tests`: globs of
    tests beyond the usual ones. `from_file`: the entries of lists that only the file names. `faults`: what of the file
    is ignored, and why. `policy.network` holds what commands may really reach.
    """

    policy: Policy
    rules: tuple[tuple[str, str], ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    from_file: dict[str, list[str]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    @property
    def verify(self) -> list[str]:
        """The task's commands, else the file's, else those of the repository's settings."""
        return self.policy.verify

    def layers(self) -> tuple[Layer, Layer]:
        """Return what the task says, then what the file says. Raises BadRule for a stored rule that can't be read."""
        return self._layer(TASK), self._layer(REPOSITORY)

    def _layer(self, source: str) -> Layer:
        return Layer(
            source,
            tuple(read(line) for line, whose in self.rules if whose == source),
            self.entries("protected", source),
            self.entries("hidden", source),
            self.entries("blocklist", source),
        )

    def entries(self, name: str, source: str) -> tuple[str, ...]:
        """Return the entries of a list that are the task's, or those that only the file names."""
        theirs = self.from_file.get(name, [])
        if source == REPOSITORY:
            return tuple(theirs)
        known = set(theirs)
        return tuple(entry for entry in getattr(self.policy, name) if entry not in known)

    def network_rules(self) -> list[tuple[str, str, CallRule]]:
        """Return the rules on hosts, in order, each with its line and source."""
        return _of_network(self.rules)

    def dump(self) -> dict[str, Any]:
        """Return it as JSON, for Run.policy."""
        return asdict(self) | {"policy": self.policy.model_dump(mode="json")}

    @classmethod
    def load(cls, data: dict[str, Any]) -> Self:
        """Return what `dump` gave."""
        return cls(
            policy=_unchecked(data["policy"]),
            rules=tuple((str(line), str(source)) for line, source in data["rules"]),
            sources=dict(data["sources"]),
            tests=tuple(data["tests"]),
            from_file=dict(data.get("from_file", {})),
            faults=tuple(data.get("faults", ())),
        )


def _unchecked(data: dict[str, Any]) -> Policy:
    """Return a merged policy, whose lists may be longer than those that one person may write."""
    long = {name: list(data.get(name, [])) for name in (*_LISTS, "rules", "network")}
    rest = {name: value for name, value in data.items() if name in Policy.model_fields and name not in long}
    return Policy.model_validate(rest, context=STORED).model_copy(update=long)


def of_task(task: Policy, file: FilePolicy | None = None, settings: Sequence[str] = ()) -> Applied:
    """Return what comes of a task's policy, a repository's file and the verify commands of its settings."""
    file = file or FilePolicy()
    from_file = {name: _only(getattr(file, name), getattr(task, name)) for name in _LISTS}
    merged: dict[str, Any] = {name: [*getattr(task, name), *from_file[name]] for name in _LISTS}
    sources = {name: _whose(getattr(task, name), getattr(file, name)) for name in (*_LISTS, "rules")}
    lines = [*((line, TASK) for line in task.rules), *((line, REPOSITORY) for line in file.rules if not _opens(line))]
    merged["rules"] = [line for line, _ in lines]
    verify = ((task.verify, TASK), (file.verify, REPOSITORY), (settings, SETTINGS))
    commands, sources["verify"] = next(((list(found), whose) for found, whose in verify if found), ([], ""))
    merged["verify"] = commands
    merged["may_change_tests"] = task.may_change_tests or bool(file.may_change_tests)
    sources["may_change_tests"] = _whose(task.may_change_tests, file.may_change_tests)
    merged["network"], sources["network"] = _network(task, lines)
    sources["secrets"] = TASK if task.secrets else ""
    return Applied(
        policy=task.model_copy(update=merged),
        rules=tuple(lines),
        sources={name: whose for name, whose in sources.items() if whose},
        tests=tuple(file.tests),
        from_file={name: entries for name, entries in from_file.items() if entries},
        faults=tuple(file.notes()),
    )


def _only(entries: Iterable[str], known: Iterable[str]) -> list[str]:
    before = set(known)
    return [entry for entry in dict.fromkeys(entries) if entry not in before]


def _whose(task: object, file: object) -> str:
    return (BOTH if file else TASK) if task else (REPOSITORY if file else "")


def _network(task: Policy, lines: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """Return what commands may reach: the task's hosts and those its rules allow, without those that a rule denies."""
    known = [(rule, source) for _, source, rule in _of_network(lines)]
    named = [rule.host for rule, source in known if rule.allow and source == TASK]
    hosts = dict.fromkeys([*task.network, *(targets.normal(host) for host in named)])
    first = {host: next(((rule, source) for rule, source in known if rule.fits_host(host)), None) for host in hosts}
    left = [host for host, found in first.items() if found is None or found[0].allow]
    narrowed = any(found and not found[0].allow and found[1] == REPOSITORY for found in first.values())
    return left, (BOTH if narrowed else TASK) if hosts else ""


def _of_network(lines: Iterable[tuple[str, str]]) -> list[tuple[str, str, CallRule]]:
    known = ((line, source, readable(line)) for line, source in lines)
    return [(line, source, rule) for line, source, rule in known if rule is not None and rule.is_of_network]


def settle(run: Run) -> Applied:
    """Return the policy that applies to a run; the first time it is worked out and stored, and always looked through.

    Raises PolicyFault, GitError. The file is read at the base, so nothing that an agent writes has a part in it.
    """
    repository = run.place.repository
    if run.policy:
        applied = Applied.load(run.policy)
    else:
        applied = of_task(run.task.rules(), at(repository, run.place.base_commit), repository.verify)
    for line, source in applied.rules:
        try:
            read(line)
        except BadRule as error:
            raise PolicyFault([f"A rule of the {source}: {error}"]) from None
    if run.policy:
        return applied
    run.policy = applied.dump()
    Run.objects.filter(pk=run.pk, lease_epoch=run.lease_epoch).update(policy=run.policy)
    return applied


def of(run: Run) -> Applied:
    """Return the policy that applies to a run; of one that was never prepared, the task's alone."""
    if run.policy:
        return Applied.load(run.policy)
    return of_task(run.task.rules(), None, run.task.repository.verify)


def baseline(workspace: Workspace) -> frozenset[str]:
    """Return the paths of the tree that a workspace started from, as they are shown. One query, one git."""
    tree = store.at(workspace, 0).tree
    return frozenset(map(shown, store.listing(store.ensure(workspace.repository), tree)))
