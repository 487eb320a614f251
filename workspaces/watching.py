"""Watching the growing output of a command for a line that fits a pattern."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from workspaces import cuts, ripgrep, terminal
from workspaces.paths import WorkspaceError

LOOKED_AT_BYTES = 256 * 1024
"""How much of what came is searched for a pattern at a time."""
SEARCH_S = 5.0
"""How long a pattern may look at one piece."""


@dataclass
class Search:
    """Looks for a pattern in what a command prints, line by line, each piece once; `found` is the line that fits.

    ripgrep looks: its time grows with the text alone, whatever the pattern, which Python's `re` can't promise.
    Raises WorkspaceError INVALID_PATTERN, with ripgrep's reason.
    """

    pattern: str
    spool: Path
    at: int
    """Offset in bytes of what is looked at next: the start of a line that may not have ended."""
    found: str = ""
    _reached: int = 0

    def __post_init__(self) -> None:
        if "\0" in self.pattern:
            raise WorkspaceError("INVALID_PATTERN", "the pattern holds a NUL character; write \\x00 for it.")
        _first_fitting(self.pattern, b"")

    def look(self, size: int) -> bool:
        """Look at what was printed up to `size` bytes and return whether it was found, now or before."""
        while not self.found and self._reached < size:
            with self.spool.open("rb") as file:
                file.seek(self.at)
                data = file.read(min(LOOKED_AT_BYTES, size - self.at))
            if not data:
                return False
            self._reached = self.at + len(data)
            shown = terminal.plain(data.decode("utf-8", "replace"))
            self.found = _first_fitting(self.pattern, shown.encode())
            self.at = self._next(data)
        return bool(self.found)

    def _next(self, data: bytes) -> int:
        """Return where the last line begins; of a line that fills everything only half is kept."""
        line = data.rfind(b"\n") + 1
        if line or len(data) < LOOKED_AT_BYTES:
            return self.at + line
        return self.at + len(data) // 2


def _first_fitting(pattern: str, text: bytes) -> str:
    argv = [ripgrep.binary(), "--no-config", "--color=never", "--text", "--max-count=1", "--no-line-number", "-e"]
    words = [word.encode() for word in argv] + [pattern.encode("utf-8", "replace"), b"-"]
    try:
        done = subprocess.run(words, input=text, env={}, capture_output=True, timeout=SEARCH_S, check=False)
    except subprocess.TimeoutExpired:
        raise WorkspaceError("INVALID_PATTERN", f"the pattern takes longer than {SEARCH_S:.0f} s.") from None
    if done.returncode == 2:
        said = done.stderr[:2000].decode("utf-8", "replace").strip().removeprefix("rg: ")
        raise WorkspaceError("INVALID_PATTERN", f"ripgrep refuses it: {said}")
    line = done.stdout.split(b"\n", 1)[0].decode("utf-8", "replace")
    return cuts.head(line, 500) or ("(an empty line)" if done.returncode == 0 else "")
