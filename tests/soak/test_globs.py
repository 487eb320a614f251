"""Globs: they mean what a plain matcher says, rules agree one by one and together, and no pattern takes long."""

import itertools
import math
import time
from collections.abc import Sequence

from hypothesis import strategies as st

from tests.soak.holding import hold
from workspaces import globs

LONG_S = 5.0
"""Processor time for what takes a thousandth of it; what grows exponentially takes years."""
Atom = tuple[str, str]  # ("one", "a"), ("star", ""), ("any", ""), ("set", "ab"), ("not", "ab"), ("or", "ab|c")
Segment = Sequence[Atom] | None  # None: **

LETTERS = st.sampled_from("ab.-é")
ATOMS = st.one_of(
    st.tuples(st.just("one"), LETTERS),
    st.just(("star", "")),
    st.just(("any", "")),
    st.tuples(st.just("set"), st.sampled_from(["ab", "a", "b.", "é"])),
    st.tuples(st.just("not"), st.sampled_from(["ab", "a", "."])),
    st.tuples(st.just("or"), st.sampled_from(["a|b", "ab|", "b|bb|a.", "é|a"])),
)
SEGMENTS = st.none() | st.lists(ATOMS, min_size=1, max_size=5).filter(
    lambda atoms: not any(a[0] == b[0] == "star" for a, b in itertools.pairwise(atoms))
)
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=4)
PATHS = st.lists(st.text(LETTERS, min_size=1, max_size=5), min_size=1, max_size=5)


def written(pattern: Sequence[Segment]) -> str:
    return "/".join("**" if part is None else "".join(map(written_atom, part)) for part in pattern)


def written_atom(atom: Atom) -> str:
    kind, text = atom
    forms = {"one": text, "star": "*", "any": "?", "set": f"[{text}]", "not": f"[!{text}]"}
    return "{" + text.replace("|", ",") + "}" if kind == "or" else forms[kind]


def is_taken(pattern: Sequence[Segment]) -> bool:
    """Return whether the braces of the pattern come to no more than are taken."""
    choices = [len(text.split("|")) for part in pattern for kind, text in part or () if kind == "or"]
    return math.prod(choices) <= globs.MAX_ALTERNATIVES


def fits(pattern: Sequence[Segment], path: Sequence[str]) -> bool:
    """Match by trying everything, a part at a time."""
    if not pattern:
        return not path
    first, *rest = pattern
    if first is not None:
        return bool(path) and name_fits(first, path[0]) and fits(rest, path[1:])
    if not rest:
        return bool(path)
    return any(fits(rest, path[skipped:]) for skipped in range(len(path) + 1))


def name_fits(atoms: Sequence[Atom], name: str) -> bool:
    if not atoms:
        return not name
    (kind, text), *rest = atoms
    match kind:
        case "star":
            return any(name_fits(rest, name[taken:]) for taken in range(len(name) + 1))
        case "or":
            return any(name.startswith(each) and name_fits(rest, name[len(each) :]) for each in text.split("|"))
        case "one" | "set":
            return name[:1] != "" and name[0] in text and name_fits(rest, name[1:])
        case "not":
            return name[:1] != "" and name[0] not in text and name_fits(rest, name[1:])
        case _:
            return name[:1] != "" and name_fits(rest, name[1:])


def test_a_glob_means_what_a_plain_matcher_says() -> None:
    seen = {True: 0, False: 0}

    def check(pattern: list[Segment], path: list[str]) -> None:
        wanted = fits(pattern, path)
        seen[wanted] += 1
        found = globs.compiled(written(pattern).removeprefix("./")).match("/".join(path))
        assert bool(found) is wanted, written(pattern)

    hold(check, PATTERNS.filter(lambda pattern: not written(pattern).startswith("./")).filter(is_taken), PATHS, few=120)
    assert min(seen.values()) > 10


def test_rules_together_cover_what_each_of_them_covers() -> None:
    def check(rules: list[str], path: list[str]) -> None:
        joined = "/".join(path)
        assert globs.covering(tuple(rules))(joined) is any(globs.matches(rule, joined) for rule in rules)
        assert globs.covering(tuple(rules))(joined.upper()) is globs.covering(tuple(rules))(joined)

    hold(check, st.lists(PATTERNS.filter(is_taken).map(written), min_size=1, max_size=4), PATHS, few=40)


def test_no_pattern_takes_long() -> None:
    def check(pattern: str, path: str) -> None:
        began = time.thread_time()
        try:
            globs.compiled(pattern).match(path)
            globs.matches(pattern, path)
            globs.covering((pattern,))(path)
        except globs.GlobError:
            pass
        assert time.thread_time() - began < LONG_S

    pieces = st.sampled_from(
        ["*", "**", "**/", "?", "a", "/", "[a]", "[!", "{", "}", ",", "{a,b}", "\\", "*a", "**/a", "-"]
    )
    paths = st.lists(st.sampled_from(["a", "/", "aa", "b", "a/a/a/", "-"]), max_size=150).map("".join)
    hold(check, st.lists(pieces, max_size=40).map("".join), paths)
