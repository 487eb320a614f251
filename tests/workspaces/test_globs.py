"""Globs: what they match, and which paths a rule of a policy covers."""

import pytest

from workspaces import globs


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "b.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("a/**/c", "a/c", True),
        ("a/**", "a", False),
        ("*.{ts,tsx}", "x.tsx", True),
        ("{a/b,c}/*", "a/b/x", True),
        ("[a-c].txt", "b.txt", True),
        ("[!a-c].txt", "b.txt", False),
        ("a?c", "a/c", False),
        (r"\*.py", "x.py", False),
        ("two\n*", "two\nlines", True),
        ("{a", "{a", True),
    ],
)
def test_a_glob_fits_a_whole_path(pattern: str, path: str, fits: bool) -> None:
    assert bool(globs.compiled(pattern).match(path)) is fits


def test_brackets_can_be_taken_as_they_are() -> None:
    regex = globs.compiled("app/[id]/*", brackets=False)
    assert regex.match("app/[id]/x")
    assert not regex.match("app/i/x")


@pytest.mark.parametrize(
    ("rule", "path", "covers"),
    [
        (".envrc", "deep/.envrc", True),
        (".vscode/**", ".vscode/tasks.json", True),
        ("docs", "docs/a/b.md", True),
        ("docs", "old/docs/a.md", True),
        ("docs/", "docs", True),
        ("/docs", "docs/x", True),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("*.lock", "yarn.lock.txt", False),
        (".GitHub/workflows/**", ".github/Workflows/ci.yml", True),
    ],
)
def test_a_rule_covers_paths_as_in_gitignore(rule: str, path: str, covers: bool) -> None:
    assert globs.matches(rule, path) is covers


@pytest.mark.parametrize("path", ["a/b/.env", ".ENV", "x/secrets/y/z", "docs/a.md", "docs/a/b.md", "doc", "a\nb/.env"])
def test_the_quick_test_of_many_rules_agrees_with_each(path: str) -> None:
    rules = (".env", "secrets/", "docs/*.md", "/x/**")
    assert globs.covering(rules)(path) is any(globs.matches(rule, path) for rule in rules)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("[", "[", True),
        ("[]", "[]", True),
        ("[]a]", "]", True),
        ("[--a]", "-", True),
        ("[a-c-e]", "-", True),
        ("{a,{b,c/d}}.py", "c/d.py", True),
        ("*{a,}*", "xa", True),
        ("*{a,}*", "x/a", False),
        ("{*,a}*", "x/a", False),
        ("{**,a}/b", "x/y/b", True),
        (r"{\*,a}*", "*x", True),
        ("{a,[,}]}", "}", True),
        ("*a*b*", "xaxbx", True),
        ("*a*b", "xabxa", False),
        ("**/a/**/b/**/c", "a/x/a/b/y/b/c", True),
        ("**/a/**/b/**/c", "b/a/c", False),
        ("**/a/**", "x/a", False),
        ("a\\", "a\\", True),
    ],
)
def test_odd_patterns_are_taken_as_people_mean_them(pattern: str, path: str, fits: bool) -> None:
    assert bool(globs.compiled(pattern).match(path)) is fits


@pytest.mark.parametrize("pattern", ["[z-a]", "{a,b}" * 40, "{a," * 500 + "b" + "}" * 500, "a" * 20_000])
def test_a_pattern_that_can_not_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(globs.GlobError) as caught:
        globs.compiled(pattern)
    assert caught.value.code == "INVALID_PATTERN"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "b", "a" * 250),
        ("**/*/" * 12 + "z/*q", "a/" * 60 + "z"),
        ("{a,aa}" * 8 + "*{a,aa}b", "a" * 250),
        ("**/*a*a/" * 8 + "b", "aaaa/" * 50 + "c"),
    ],
)
def test_no_pattern_tries_every_way_to_fit(pattern: str, path: str) -> None:
    """Tried one by one, the ways would not be done before the sun burns out."""
    assert not globs.compiled(pattern).match(path)
