"""Settings: the parts of a file that decide what tests do, by name, so that layout and order make no difference."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from workspaces import cuts
from workspaces.integrity.findings import Finding, FindingKind

TEXT_LIMIT = 500
"""Characters of a setting that a finding quotes."""


class Broken(Exception):
    """A file that can't be read as what it should be; the message says why."""


@dataclass(frozen=True)
class Setting:
    """One setting: its value in a form of its own, and the lines (from 1) where it stands, 0 where that isn't known.

    `home`: the line that it must stand below, such as a section's header; `keys`: where it stands in a JSON file.
    `may_appear`, `may_go`: what is new, or is
    gone, means nothing by itself.
    """

    name: str
    value: str
    line: int = 0
    end: int = 0
    text: str = ""
    home: str = ""
    keys: tuple[str, ...] = ()
    may_appear: bool = False
    may_go: bool = False


Settings = Mapping[str, Setting]
Reader = Callable[[str, frozenset[str]], dict[str, Setting]]
"""Reads a file's text, with the names in it that commands are known to use. Raises Broken."""


@dataclass(frozen=True)
class Difference:
    name: str
    old: Setting | None
    new: Setting | None


def differences(old: Settings, new: Settings) -> Iterator[Difference]:
    """Yield the settings that mean something else now, in the order of the new file, what is gone at the end."""
    for name in [*new, *(name for name in old if name not in new)]:
        before, now = old.get(name), new.get(name)
        if before is None and now is not None:
            if not now.may_appear:
                yield Difference(name, None, now)
        elif now is None and before is not None:
            if not before.may_go:
                yield Difference(name, before, None)
        elif before is not None and now is not None and before.value != now.value:
            yield Difference(name, before, now)


def finding(path: str, found: Difference) -> Finding:
    """Return the finding on one setting that differs."""
    old, new = found.old, found.new
    what = "is new" if old is None else "is gone" if new is None else "was changed"
    return Finding(
        FindingKind.CONFIGURATION,
        path,
        f"What decides which tests run, and how, {what}: {found.name}.",
        name=found.name,
        old_line=old.line if old else 0,
        new_line=new.line if new else 0,
        old=cut(old.text or old.value) if old else "",
        new=cut(new.text or new.value) if new else "",
    )


def cut(text: str) -> str:
    """Return the start of a text, as much as a finding quotes."""
    text = text.strip("\n")
    return text if len(text) <= TEXT_LIMIT else f"{cuts.head(text, TEXT_LIMIT - 1)}…"
