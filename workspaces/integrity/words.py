"""Names that speak of tests: of scripts, targets and folders."""

import re

_ABOUT_TESTS = re.compile(
    r"(?i)(?:.*[:._/-])?(?:pre|post)?(?:tests?|check|checks|verify|spec|specs|unit|unittests?|e2e|integration|coverage|cov"
    r"|ci|jest|vitest|mocha|pytest|cypress|playwright|smoke|regression|validate)(?:[:._/-].*)?"
)
_RUNS = re.compile(
    r"(?i)(?:^|[/._-])(?:run[_-]?)?(?:tests?|check|verify|ci|runtests|e2e|spec|validate|coverage)(?:[/._-]|$)"
)
_SCRIPTS = re.compile(r"(?i)(?:^|/)(?:scripts?|bin|tools?|ci|hack|dev|build-tools|\.github|\.ci|script)/")


def is_about_tests(name: str) -> bool:
    """Return whether a script or target of this name runs tests, as far as its name tells."""
    return len(name) < 200 and _ABOUT_TESTS.fullmatch(name) is not None


def runs_tests(path: str) -> bool:
    """Return whether a program of this path is there to run tests, and is not what is tested."""
    return _RUNS.search(path) is not None or _SCRIPTS.search(path) is not None
