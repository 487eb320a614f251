"""Names of tests: plain, short and the same in each run, whatever the tool, the folder and the order."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from workspaces import cuts, terminal
from workspaces.proving.formats.found import Found
from workspaces.proving.results import TestState

NAME_LIMIT = 500
_SPACES = re.compile(r"\s+")
_CHANGING = re.compile(
    r"\b0x[0-9a-f]{9,16}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
)
"""Addresses and random identifiers, which differ in each run."""
_WORST_FIRST = (TestState.FAILED, TestState.SKIPPED, TestState.PASSED)


def cleaned(name: str, roots: Sequence[str]) -> str:
    r"""Return a name as it is stored: without the folders `roots`, colours and what changes; NUL and such as `\x00`."""
    name = terminal.plain(_SPACES.sub(" ", name)).strip()
    for root in roots:
        name = name.replace(f"{root}/", "")
    name = _CHANGING.sub("…", name)
    if not name.isprintable():
        name = "".join(letter if letter.isprintable() else _escaped(letter) for letter in name)
    if len(name) > NAME_LIMIT:
        mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
        name = f"{cuts.head(name, NAME_LIMIT - 10)}… {mark}"
    return name or "(no name)"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def merged(found: Iterable[tuple[str, TestState]], *, is_unique: bool) -> dict[str, TestState]:
    """Return the state of each test by name, in the order of the names.

    Where names are unique, of two states of one the worse counts. Else those of one name are numbered `name #2`, the
    worst first: in whichever order they ran, the same results have the same names.
    """
    states: dict[str, Counter[TestState]] = defaultdict(Counter)
    for name, state in found:
        states[name][state] += 1
    named: dict[str, TestState] = {}
    for name in sorted(states):
        ordered = [state for state in _WORST_FIRST for _ in range(states[name][state])]
        for number, state in enumerate(ordered[:1] if is_unique else ordered, start=1):
            add(named, name if number == 1 else f"{name} #{number}", state)
    return named


def add(named: dict[str, TestState], name: str, state: TestState) -> None:
    """Put a test beside others; where its name is there, the worse state counts."""
    named[name] = min(state, named.get(name, state), key=_WORST_FIRST.index)


def all_cleaned(found: Found, roots: Sequence[str]) -> Iterable[tuple[str, TestState]]:
    """Yield tests with their names as they are stored."""
    return ((cleaned(name, roots), state) for name, state in found)
