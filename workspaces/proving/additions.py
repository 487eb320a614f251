"""What to add to the words of each test tool so that it tells its tests one by one; what it means stays the same."""

from collections.abc import Sequence
from dataclasses import dataclass

Words = Sequence[str | None]


@dataclass(frozen=True)
class Addition:
    """Words to put after the start of a tool, or none.

    `to_output`: they change what it prints, so they are of no use, and would do harm, where another program gets that.
    """

    words: tuple[str, ...] = ()
    to_output: bool = False


NOTHING = Addition()


def addition(tool: str, rest: Words, report: str) -> Addition:
    """Return what to add to a tool whose further words are `rest`; `report` is a path without its ending.

    What they ask for themselves stays: of two of a kind the later wins, or nothing is added.
    """
    added = _BY_TOOL.get(tool)
    return added(rest, report) if added else NOTHING


def at_end(tool: str, rest: Words, report: str) -> Addition:
    """Return what to add where only the end of the words can be reached, as with a script's."""
    if "--" in rest or tool in ("go", "rspec") or (tool == "node" and any(not _is_option(word) for word in rest)):
        return NOTHING
    return addition(tool, rest, report)


def _is_option(word: str | None) -> bool:
    return word is not None and word.startswith("-") and ("=" in word or word.startswith("--test"))


def _has(rest: Words, *options: str) -> bool:
    """Return whether one of the options is given, also as `--option=value`."""
    before = rest[: rest.index("--")] if "--" in rest else rest
    return any(word is not None and word.partition("=")[0] in options for word in before)


def _is_unclear(rest: Words) -> bool:
    return any(word is None for word in rest)


def _pytest(rest: Words, report: str) -> Addition:
    theirs = _has(rest, "--junitxml", "--junit-xml") or any("no:junitxml" in (word or "") for word in rest)
    return NOTHING if theirs else Addition((f"--junitxml={report}.pytest.xml",))


def _unittest(rest: Words, report: str) -> Addition:
    return NOTHING if _has(rest, "-v", "--verbose", "-q", "--quiet") else Addition(("-v",), to_output=True)


def _django(rest: Words, report: str) -> Addition:
    theirs = any((word or "").startswith(("-v", "--verbosity")) for word in rest)
    return NOTHING if theirs else Addition(("-v", "2"), to_output=True)


def _go(rest: Words, report: str) -> Addition:
    return NOTHING if _has(rest, "-json", "--json") else Addition(("-json",), to_output=True)


def _cargo(rest: Words, report: str) -> Addition:
    theirs = _has(rest, "--no-fail-fast", "--fail-fast", "--no-run", "--max-fail", "--help", "-h")
    return NOTHING if theirs else Addition(("--no-fail-fast",))


def _jest(rest: Words, report: str) -> Addition:
    theirs = _has(rest, "--json", "--outputFile", "--listTests", "--showConfig", "--watch", "--watchAll")
    return NOTHING if theirs or _is_unclear(rest) else Addition(("--json", f"--outputFile={report}.jest.json"))


def _vitest(rest: Words, report: str) -> Addition:
    if _is_unclear(rest) or any((word or "").startswith("--outputFile") for word in rest) or _has(rest, "list"):
        return NOTHING
    usual = () if _has(rest, "--reporter") else ("--reporter=default",)
    return Addition((*usual, "--reporter=json", f"--outputFile.json={report}.vitest.json"))


def _node(rest: Words, report: str) -> Addition:
    if _has(rest, "--test-reporter", "--test-reporter-destination"):
        return NOTHING
    usual = ("--test-reporter=spec", "--test-reporter-destination=stdout")
    return Addition((*usual, "--test-reporter=tap", f"--test-reporter-destination={report}.node.tap"))


def _rspec(rest: Words, report: str) -> Addition:
    own = any((word or "").startswith(("-f", "--format")) for word in rest)
    if _is_unclear(rest) or (not own and any((word or "").startswith(("-o", "--out")) for word in rest)):
        return NOTHING
    usual = () if own else ("--format", "progress")
    return Addition(("--format", "json", "--out", f"{report}.rspec.json", *usual))


def _phpunit(rest: Words, report: str) -> Addition:
    return NOTHING if _has(rest, "--log-junit") else Addition(("--log-junit", f"{report}.phpunit.xml"))


def _minitest(rest: Words, report: str) -> Addition:
    return NOTHING if _has(rest, "-v", "--verbose") else Addition(("TESTOPTS=-v",), to_output=True)


_BY_TOOL = {
    "pytest": _pytest,
    "unittest": _unittest,
    "django": _django,
    "go": _go,
    "cargo": _cargo,
    "nextest": _cargo,
    "jest": _jest,
    "vitest": _vitest,
    "node": _node,
    "rspec": _rspec,
    "phpunit": _phpunit,
    "pest": _phpunit,
    "minitest": _minitest,
}
