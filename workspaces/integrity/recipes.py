"""Makefiles, justfiles and Taskfiles: their targets, what these need, and the variables that they are made of."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from workspaces.integrity.settings import Setting, cut
from workspaces.integrity.words import is_about_tests

TARGETS_LIMIT = 5000
PATTERNS_LIMIT = 200
_MAKE_VARIABLE = re.compile(
    r"\s*(?:(?:override|export|private|unexport)\s+)*([\w.%-]+)\s*(\?=|:{0,3}=|\+=|!=)\s*(.*)$", re.DOTALL
)
_MAKE_RULE = re.compile(r"([^\s:#=][^:#=]*)(::?)(?![:=])\s*(.*)$", re.DOTALL)
_MAKE_CONDITION = re.compile(r"\s*(?:ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_MAKE_DEFINE = re.compile(r"\s*(?:override\s+)?define\s+([\w.-]+)")
_JUST_RULE = re.compile(r"@?([A-Za-z_][\w-]*+)((?:[^:=\n]++|=\s*+(?:'[^']*+'|\"[^\"]*+\"))*+):(?!=)\s*(.*)$", re.DOTALL)
_JUST_VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)$", re.DOTALL)
_JUST_ALIAS = re.compile(r"alias\s+([\w-]+)\s*:=\s*([\w-]+)")
_YAML_KEY = re.compile(r"""(['"]?)([^\s'"#:][^'"#]*?)\1\s*:(?:\s|$)(.*)""")
_REFERENCE = re.compile(r"\$[({]([^)}]*)|\$(\w)|\{\{([^}]*)\}\}")
_WORD = re.compile(r"[\w.-]+")
_PLAIN_TARGET = re.compile(r"[\w./@+-]+")
_INCLUDES = (
    re.compile(r"(?:-|s)?include\s+(.+)"),
    re.compile(r"import\??\s+(['\"].+)"),
    re.compile(r"set dotenv-(?:filename|path)\s*:=\s*(.+)"),
    re.compile(r"\s*(?:dotenv|taskfile):\s*\[?([^\]]+)"),
)
"""Lines of make, just and task that have another file read."""
_WILDCARD = re.compile(r"\$[({](?:wildcard|sort)\s+([^(){}]*)[)}]")
_DOTENV = re.compile(r"set dotenv-load\b(?!\s*:=\s*false)")
_ALWAYS = frozenset(
    {"SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", ".DEFAULT_GOAL", "PATH", "PYTHONPATH"}
)


@dataclass
class Target:
    """A target: what it needs, and its lines with where they stand."""

    name: str
    needs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    first: int = 0
    last: int = 0


@dataclass
class Recipes:
    """What a file of targets holds. `others`: lines that are about all of it, such as includes and conditions."""

    targets: dict[str, Target] = field(default_factory=dict)
    variables: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    others: list[tuple[int, str]] = field(default_factory=list)
    default: str = ""
    patterns: list[str] = field(default_factory=list)

    def included(self) -> list[str]:
        """Return what the file reads besides itself, there or not, as its lines name it: paths, or globs of them."""
        found: list[str] = []
        for _, line in self.others:
            named = next(filter(None, (pattern.match(line) for pattern in _INCLUDES)), None)
            found += [word.strip("\"',") for word in _WILDCARD.sub(r"\1", named[1]).split()] if named else []
            found += [".env"] if _DOTENV.match(line) else []
        return found

    def target(self, name: str, line: int, raw: str) -> Target:
        if "%" in name and name not in self.targets and len(self.patterns) < PATTERNS_LIMIT:
            self.patterns.append(name)
        found = self.targets.setdefault(name, Target(name, first=line, last=line))
        if not self.default and not name.startswith("."):
            self.default = name
        found.raw.append(raw)
        found.last = line
        return found

    def closure(self, names: Iterable[str]) -> set[str]:
        """Return the names with all that they need, also what is no target yet; "" stands for the default one."""
        found: set[str] = set()
        todo = [name or self.default for name in names]
        while todo:
            name = todo.pop()
            if name in found or len(found) > TARGETS_LIMIT:
                continue
            found.add(name)
            todo += [need for each in self.matching(name) for need in self.targets[each].needs]
        return found - {""}

    def matching(self, name: str) -> list[str]:
        """Return the targets that make this one: itself, and patterns such as `test-%`."""
        return ([name] if name in self.targets else []) + [each for each in self.patterns if _fits(each, name)]

    def referenced(self, names: Iterable[str]) -> set[str]:
        """Return the variables that these targets are made of."""
        found: set[str] = set()
        todo = [word for name in names if name in self.targets for word in _references(self.targets[name].lines)]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += _references(text for _, text in self.variables.get(name, ()))
        return found


def _fits(pattern: str, name: str) -> bool:
    head, _, tail = pattern.partition("%")
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)


def _references(lines: Iterable[str]) -> list[str]:
    inner = (match[1] or match[2] or match[3] or "" for line in lines for match in _REFERENCE.finditer(line))
    return [word.lstrip(".") for text in inner for word in _WORD.findall(text)]


# --- make --------------------------------------------------------------------------------------------


def makefile(text: str) -> Recipes:
    """Return what a Makefile holds; never raises."""
    found = Recipes()
    current: list[Target] = []
    defined = ""
    for number, line in _joined(text):
        if defined:
            defined = "" if line.strip() == "endef" else defined
            found.variables.setdefault(defined, []).append((number, line.strip()))
        elif line.startswith("\t"):
            for target in current:
                _add(target, number, line, line.strip())
            found.others += [] if current else [(number, line)]
        elif begins := _MAKE_DEFINE.match(line):
            defined = begins[1]
        elif _MAKE_CONDITION.match(line):
            found.others.append((number, " ".join(line.split())))
        elif stripped := line.split("#", 1)[0].strip():
            current = _make_line(found, number, stripped)
    return found


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines with the number of the first: one that ends in a backslash goes on."""
    held, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first or number
        if line.endswith("\\"):
            held += line[:-1].rstrip() + " " if not held else line[:-1].strip() + " "
            continue
        yield first, held + (line.strip() if held else line)
        held, first = "", 0
    if held:
        yield first, held


def _make_line(found: Recipes, number: int, line: str) -> list[Target]:
    variable = _MAKE_VARIABLE.match(line)
    if variable:
        found.variables.setdefault(variable[1], []).append((number, f"{variable[2]} {' '.join(variable[3].split())}"))
        return []
    rule = _MAKE_RULE.match(line)
    if rule is None:
        found.others.append((number, " ".join(line.split())))
        return []
    needs, _, command = rule[3].partition(";")
    names = rule[1].rstrip("& \t").split()[:TARGETS_LIMIT]
    targets = [found.target(name, number, line) for name in names]
    for target in targets:
        target.needs += [name for name in needs.split() if _PLAIN_TARGET.fullmatch(name)]
        target.lines += [f"{rule[2]} {' '.join(needs.split())}", *([command.strip()] if command.strip() else [])]
    return targets


def _add(target: Target, number: int, raw: str, line: str) -> None:
    if line and not line.startswith("#"):
        target.lines.append(" ".join(line.split()))
        target.raw.append(raw)
        target.last = number


# --- just --------------------------------------------------------------------------------------------


def justfile(text: str) -> Recipes:
    """Return what a justfile holds; never raises."""
    found = Recipes()
    current: Target | None = None
    attributes: list[str] = []
    for number, line in _joined(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] in " \t":
            if current is not None:
                _add(current, number, line, line.strip())
            continue
        current = None
        if line.startswith("["):
            attributes.append(line.strip())
        elif alias := _JUST_ALIAS.match(line):
            found.target(alias[1], number, line).needs.append(alias[2])
            found.targets[alias[1]].lines.append(alias[2])
        elif variable := _JUST_VARIABLE.match(line):
            found.variables.setdefault(variable[1], []).append((number, variable[2].strip()))
        elif rule := _JUST_RULE.match(line):
            current = found.target(rule[1], number, line)
            current.needs += re.findall(r"[A-Za-z_][\w-]*", rule[3].split("#")[0])
            current.lines += [*attributes, " ".join(line.split("#")[0].split())]
            attributes = []
        else:
            found.others.append((number, " ".join(line.split())))
    return found


# --- Taskfiles ---------------------------------------------------------------------------------------


def taskfile(text: str) -> Recipes:
    """Return what a Taskfile holds, by its indentation; never raises."""
    found = Recipes()
    inside, depth, current = False, 0, None
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            inside, depth, current = stripped.startswith("tasks:"), 0, None
        if not inside or indent == 0:
            found.others += [] if stripped.startswith(("version:", "tasks:")) else [(number, line.rstrip())]
            continue
        depth = depth or indent
        key = _YAML_KEY.match(stripped) if indent == depth else None
        if key:
            current = found.target(key[2], number, line)
            current.lines += [key[3].strip()] if key[3].strip() else []
        elif current is not None:
            _add(current, number, line, f"{' ' * (indent - depth)}{stripped}")
            current.needs += re.findall(r"\btask:\s*([\w:-]+)", stripped) + _listed_needs(stripped)
    return found


def _listed_needs(line: str) -> list[str]:
    """Return what stands in a list of a task: the tasks that it needs first, or commands that happen to be one word."""
    listed = re.match(r"deps:\s*\[(.*)\]", line)
    if listed:
        return [word.strip(" '\"") for word in listed[1].split(",")]
    one = re.fullmatch(r"-\s*([\w:-]+)", line)
    return [one[1]] if one else []


# --- settings ----------------------------------------------------------------------------------------


def settings(found: Recipes, used: Collection[str]) -> dict[str, Setting]:
    """Return what decides what the used targets, and those that are about tests by name, do."""
    about = found.closure([*used, *(name for name in found.targets if is_about_tests(name))])
    watched = set(found.closure(used)) | set(used)
    names = {each for name in about for each in found.matching(name)}
    settings = {f"target {name}": _of_target(found.targets[name], name not in watched) for name in names}
    for name in found.referenced(names) | (_ALWAYS & found.variables.keys()):
        settings[f"variable {name}"] = _of_variable(name, found.variables.get(name, []), always=name in _ALWAYS)
    if found.others and names:
        text = "\n".join(line for _, line in found.others)
        settings["its other lines"] = Setting(
            "its other lines", text, found.others[0][0], found.others[-1][0], cut(text)
        )
    return settings | dict(_of_all(found, names))


def _of_variable(name: str, places: list[tuple[int, str]], *, always: bool) -> Setting:
    """Return a variable that targets use, set or not; that they use it no more is a change of theirs."""
    text = "\n".join(value for _, value in places)
    first, last = (places[0][0], places[-1][0]) if places else (0, 0)
    value = text if places else "(not set)"
    return Setting(f"variable {name}", value, first, last, cut(text), may_appear=not always, may_go=not always)


def _of_target(target: Target, may_appear: bool) -> Setting:
    name, text = f"target {target.name}", cut("\n".join(target.raw))
    return Setting(name, "\n".join(target.lines), target.first, target.last, text, may_appear=may_appear)


def _of_all(found: Recipes, names: Collection[str]) -> Iterator[tuple[str, Setting]]:
    """Yield what make's own targets say of the names: `.PHONY`, `.IGNORE`, `.SILENT` and so on."""
    for special, target in found.targets.items():
        if not (special.startswith(".") and special[1:].isupper()) or special in (".SUFFIXES", ".SILENT"):
            continue
        if special != ".PHONY":
            yield (
                special,
                Setting(special, "\n".join(target.lines), target.first, target.last, cut("\n".join(target.raw))),
            )
            continue
        for name in set(target.needs) & set(names):
            yield (
                f".PHONY {name}",
                Setting(f".PHONY {name}", "", target.first, target.last, f".PHONY: {name}", may_appear=True),
            )


def make_reader(text: str, used: frozenset[str]) -> dict[str, Setting]:
    return settings(makefile(text), used)


def just_reader(text: str, used: frozenset[str]) -> dict[str, Setting]:
    return settings(justfile(text), used)


def task_reader(text: str, used: frozenset[str]) -> dict[str, Setting]:
    return settings(taskfile(text), used)
