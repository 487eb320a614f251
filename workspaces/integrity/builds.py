"""Build files written as code or markup: what of them is about tests, in Go, Java, Ruby, Elixir, Python, vite."""

import re
from collections.abc import Callable, Iterator

from workspaces import cuts
from workspaces.integrity.settings import Setting, cut
from workspaces.integrity.words import is_about_tests

PATH_LIMIT = 4
"""Elements above one that its place is known by."""
_SPACE = re.compile(r"\s+")

# --- Go ----------------------------------------------------------------------------------------------

_GO_BLOCK = re.compile(r"(replace|use|tool)\s*\(\s*$")
_GO_LINE = re.compile(r"(replace|use)\s+(\S.*)$")


def go_mod(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read which modules are replaced by others, or (go.work) which folders are used."""
    found: dict[str, Setting] = {}
    block = ""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.split("//", 1)[0].strip()
        if block and bare == ")":
            block = ""
        elif begins := _GO_BLOCK.match(bare):
            block = begins[1]
        elif bare and (block or _GO_LINE.match(bare)):
            words = (bare if not block else f"{block} {bare}").split()
            name = " ".join(words[: words.index("=>")] if "=>" in words else words)
            found[name] = Setting(name, " ".join(words), number, number, " ".join(words))
    return {name: each for name, each in found.items() if not name.startswith("tool ")}


# --- Maven -------------------------------------------------------------------------------------------

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<(/?)([\w.:-]+)([^<>]*)>|([^<]+)|<", re.DOTALL)
_TEST_PLUGIN = re.compile(
    r"(?i)surefire|failsafe|test|junit|jacoco|antrun|groovy-maven|exec-maven|invoker|pitest|build-helper"
)
_TEST_PROPERTY = re.compile(r"(?i)test|skip|surefire|failsafe|argline|groups")
_PLACES = frozenset(
    {"testSourceDirectory", "sourceDirectory", "testOutputDirectory", "testResources", "scriptSourceDirectory"}
)


def pom(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read what pom.xml says of tests: plugins that run them, properties that skip them, places, modules."""
    found: dict[str, Setting] = {}
    for path, inner, first, last in _elements(text):
        name = _of_pom(path, inner)
        if name:
            before = found.get(name)
            value = f"{before.value}\n{inner}" if before else inner
            found[name] = Setting(name, value, first, last, cut(inner))
    return found


def _of_pom(path: tuple[str, ...], inner: str) -> str:
    match path:
        case (*_, "plugins", "plugin"):
            artifact = re.search(r"<artifactId> ?([^<]*?) ?<", inner)
            name = artifact[1] if artifact else "?"
            return f"plugin {name}" if _TEST_PLUGIN.search(name) else ""
        case (*_, "properties", name) if _TEST_PROPERTY.search(name):
            return f"property {name}"
        case (*_, "build", name) if name in _PLACES:
            return f"build {name}"
        case (*_, "dependency", "systemPath"):
            return f"systemPath {inner}"
    return ""


def _elements(text: str) -> Iterator[tuple[tuple[str, ...], str, int, int]]:
    """Yield each element: its path, all that is in it with blanks pressed, and its lines. Comments are left out.

    Only elements that may be of interest have their content kept, so that deep nesting costs nothing.
    """
    stack: list[tuple[str, int, int]] = []
    said: list[str] = []
    line = 1
    for token in _TAG.finditer(text):
        here, line = line, line + token[0].count("\n")
        if token[4] is not None:
            said.append(_SPACE.sub(" ", token[4]).strip())
        elif token[2] and not token[1]:
            stack.append((token[2], len(said), here))
            said.append(f"<{token[2]}>")
        is_alone = bool(token[2]) and token[3].endswith("/")
        if token[2] and (token[1] or is_alone) and stack:
            said += [] if is_alone else [f"</{token[2]}>"]
            name, start, first = stack[-1]
            path = tuple(each[0] for each in stack[-PATH_LIMIT:])
            if name in ("plugin", "systemPath") or name in _PLACES or path[-2:-1] == ("properties",):
                yield path, " ".join(filter(None, said[start + 1 : len(said) - (not is_alone)])), first, line
            stack.pop()


# --- Gradle and vite: blocks in braces ---------------------------------------------------------------

_GRADLE_BLOCK = re.compile(r"(?i)test|check|verify|jacoco|coverage")
_GRADLE_LINE = re.compile(
    r"(?i)ignoreFailures|onlyIf|\benabled\s*=|excludeTask|startParameter|dependencySubstitution|\bsubstitute\b|sourceSets"
    r"|apply\s*\(?from|exclude\s*\(?\s*[\"']\*\*|useJUnit|\bfilter\b"
)


def gradle(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read the blocks about tests, and lines anywhere that switch tasks off or put other sources in place."""

    def begins(line: str) -> bool:
        return line.endswith("{") and _GRADLE_BLOCK.search(line) is not None and "dependencies" not in line

    return _blocks(text, begins) | _lines(text, _GRADLE_LINE)


def vite(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read the block `test` of vite.config, and which modules stand in for others."""
    return _blocks(text, lambda line: re.search(r"\b(?:test|alias|define|environments)\s*:", line) is not None)


def _blocks(text: str, begins: Callable[[str], bool]) -> dict[str, Setting]:
    """Return the outermost runs of lines from one that `begins` to where its braces are closed."""
    found: dict[str, Setting] = {}
    held: list[str] = []
    first = depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith(("//", "*", "/*")):
            continue
        if not held and begins(bare):
            first = number
            held, depth = [bare], 0
        elif held:
            held.append(bare)
        if held:
            depth += sum(map(line.count, "{[(")) - sum(map(line.count, "}])"))
            if depth <= 0:
                name = _named(held[0], found)
                value = " ".join(re.findall(r"\w+|[^\w\s]", " ".join(held)))
                found[name] = Setting(name, value, first, number, cut("\n".join(held)))
                held = []
    return found


def _named(line: str, found: dict[str, Setting]) -> str:
    name = line.rstrip("{[( ")[:80]
    return name if name not in found else f"{name} ({len(found)})"


def _lines(text: str, fits: "re.Pattern[str]") -> dict[str, Setting]:
    """Return the lines that fit, each as a setting of its own."""
    found: dict[str, Setting] = {}
    for number, line in enumerate(text.split("\n"), 1):
        bare = _SPACE.sub(" ", line.strip())
        if bare and not bare.startswith(("//", "#", "*", "/*")) and len(bare) < 5000 and fits.search(bare):
            name = cuts.head(cut(bare), 200)
            name = name if name not in found else f"{name} ({number})"
            found[name] = Setting(name, bare, number, number, cut(line))
    return found


# --- Ruby, Elixir, Python ----------------------------------------------------------------------------

_GEM = re.compile(r"gem[\s(]+['\"]([\w.-]+)['\"](.*)$")
_SOURCE = re.compile(r"\b(?:path|git|github|gist|ref|branch|require)\b:?\s*(?:=>)?\s*['\"][^'\"]*['\"]")
_ORDINARY = re.compile(r"(?:source|ruby|group|end|gemspec|platforms?|git_source|install_if)\b")


def gemfile(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read where gems come from, if that is no version, and lines that are code of another sort."""
    found: dict[str, Setting] = {}
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or len(bare) > 5000:
            continue
        if gem := _GEM.match(bare):
            name = f"{gem[1]} (source)"
            found[name] = Setting(
                name, " ".join(_SOURCE.findall(gem[2])), number, number, cut(line), may_appear=True, may_go=True
            )
        elif not _ORDINARY.match(bare):
            name = cuts.head(cut(bare), 200)
            found[name] = Setting(name, bare, number, number, cut(line))
    return found


_SPEAKS_OF_TESTS = re.compile(
    r"(?i)cmdclass|test_suite|package_dir|\btest_|pytest11|elixirc_paths|test_paths|test_pattern|preferred_cli_env|\baliases\b|\btests?\b"
)
_ONLY_INSTALLS = re.compile(r"(?i)tests_require|extras_require|install_requires|classifiers|only:")


def speaking_of_tests(text: str, _: frozenset[str]) -> dict[str, Setting]:
    """Read the lines of setup.py or mix.exs that speak of tests, and don't only install what those need."""
    return {
        name: each for name, each in _lines(text, _SPEAKS_OF_TESTS).items() if not _ONLY_INSTALLS.search(each.value)
    }


_TOP = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")


def sessions(text: str, used: frozenset[str]) -> dict[str, Setting]:
    """Read a noxfile or a file of tasks: each function with its decorators, and all else; a new function is nothing."""
    found: dict[str, tuple[int, int, list[str]]] = {}
    name, waiting = "", list[tuple[int, str]]()
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.rstrip()
        if not bare or bare.lstrip().startswith("#"):
            continue
        if bare[0] not in " \t)]}":
            top = _TOP.match(bare)
            name = top[1] if top else ""
            if bare.startswith("@"):
                waiting.append((number, bare))
                continue
        for at, each in [*waiting, (number, bare)]:
            first, _, lines = found.get(name, (at, at, []))
            lines.append(each)
            found[name] = (first, at, lines)
        waiting = []
    return {_session(key): _function(key, *value, is_used=key in used) for key, value in found.items()}


def _session(name: str) -> str:
    return f"function {name}" if name else "its other lines"


def _function(name: str, first: int, last: int, lines: list[str], *, is_used: bool) -> Setting:
    may_appear = bool(name) and not is_used and not is_about_tests(name)
    text = "\n".join(lines)
    return Setting(_session(name), text, first, last, cut(text), may_appear=may_appear)
