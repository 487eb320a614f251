"""Secret values taken out of what is shown: of texts, of JSON-like data, and of bytes as they stream by."""

import base64
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import Any
from urllib.parse import quote, quote_plus

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

LINE_CHARS = 16
"""A line of a secret that has so many characters is masked by itself too."""
SHORTEST = 8
"""Characters of a secret, at least: masking a shorter one would ruin other text."""
_HEAD = 8
_TRIES = 64
_WRAPS = (76, 64)
"""Where `base64` and `openssl` break their lines."""


class Mask:
    """Knows secrets by their names, in the spellings in which programs show them.

    A search takes time linear in the data, however many secrets there are and however much is almost one.
    """

    def __init__(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        pairs = secrets.items() if isinstance(secrets, Mapping) else secrets
        self._names = {spelling: name for name, value in pairs if value for spelling in _spellings(value)}
        self._sorted = sorted(self._names)
        self.longest = max(map(len, self._sorted), default=0)
        self._found = _automaton(self._sorted)
        self._head = min(_HEAD, min(map(len, self._sorted), default=1))
        self._heads = _automaton(sorted({each[: self._head] for each in self._sorted}))

    def __bool__(self) -> bool:
        return self._found is not None

    def data(self, data: bytes) -> tuple[bytes, int]:
        """Return the bytes without secrets, and how many were taken out."""
        parts, at, count = [], 0, 0
        for start, end, name in self.matches(data):
            parts += [data[at:start], name]
            at, count = end, count + 1
        return (b"".join([*parts, data[at:]]), count) if count else (data, 0)

    def text(self, text: str) -> tuple[str, int]:
        """Return the text without secrets, and how many were taken out."""
        if self._found is None:
            return text, 0
        masked, count = self.data(text.encode("utf-8", "surrogatepass"))
        return (masked.decode("utf-8", "surrogatepass"), count) if count else (text, 0)

    def value(self, value: Any) -> tuple[Any, int]:
        """Return JSON-like data with every text in it masked, keys included, and how many were taken out."""
        if self._found is None:
            return value, 0
        match value:
            case str():
                return self.text(value)
            case dict():
                pairs = [(self.value(key), self.value(item)) for key, item in value.items()]
                return {key: item for (key, _), (item, _) in pairs}, sum(one + two for (_, one), (_, two) in pairs)
            case list() | tuple():
                items = [self.value(item) for item in value]
                return [item for item, _ in items], sum(count for _, count in items)
            case _:
                return value, 0

    def stream(self, limit: int | None = None) -> "Stream":
        """Return what masks bytes that come in pieces, of which only the first `limit` are shown."""
        return Stream(self, limit)

    def names_in(self, data: bytes) -> set[str]:
        """Return the names of the secrets that the bytes hold."""
        return set() if self._found is None else {self._names[self._sorted[each]] for each, _, _ in self._search(data)}

    def matches(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield where secrets stand, leftmost first and the longest there, with what to show in their place."""
        at = 0
        for start, less_end, number in sorted((start, -end, number) for number, start, end in self._search(data)):
            if start >= at:
                at = -less_end
                yield start, at, self._shown(number)

    def across(self, data: bytes, at: int) -> tuple[int, int, bytes]:
        """Return where a secret begins and ends that a cut at `at` would go through, and what to show in its place.

        Secrets that overlap are one; (at, at, b"") where there is none.
        """
        first, last, shown = 0, 0, b""
        for start, less_end, number in sorted((start, -end, number) for number, start, end in self._search(data)):
            if start >= last:
                if start >= at or at < last:
                    break
                first, shown = start, self._shown(number)
            last = max(last, -less_end)
        return (first, last, shown) if first < at < last else (at, at, b"")

    def _shown(self, number: int) -> bytes:
        return b"[masked " + self._names[self._sorted[number]].encode() + b"]"

    def _search(self, data: bytes) -> list[tuple[int, int, int]]:
        return self._found.find_matches_as_indexes(data, overlapping=True) if self._found else []

    def settled(self, data: bytes) -> int:
        """Return up to where no byte to come can change what is a secret: what follows begins one, or may.

        Of a text that is full of beginnings only some are looked at: more than needed waits then, never less.
        """
        if self._heads is None:
            return len(data)
        first = max(0, len(data) - self.longest + 1)
        last = max(first, len(data) - self._head + 1)
        tail = data[first:]
        heads = (first + start for _, start, _ in self._heads.find_matches_as_indexes(tail, overlapping=True))
        for tried, at in enumerate(chain(heads, range(last, len(data)))):
            if tried == _TRIES or self._begins(data[at:]):
                return at
        return len(data)

    def _begins(self, data: bytes) -> bool:
        """Return whether the bytes are the beginning of a secret, but not yet the whole."""
        at = bisect_left(self._sorted, data)
        return any(len(data) < len(each) and each.startswith(data) for each in self._sorted[at : at + 2])


@dataclass
class Stream:
    """Masks what streams by: only bytes that may be the beginning of a secret wait for the next piece.

    With `limit` only so many of the bytes that come are shown. A secret that the limit goes through is masked if the
    rest of it comes: feed up to `mask.longest` more.
    """

    mask: Mask
    limit: int | None = None
    count: int = 0
    _kept: bytes = field(default=b"", repr=False)
    _passed: int = 0
    """How many bytes came before those that are kept."""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown now."""
        whole = self._kept + data if self._kept else data
        return self._take(whole, self.mask.settled(whole))

    def end(self) -> bytes:
        """Return the rest, when nothing more will come."""
        return self._take(self._kept, len(self._kept))

    def _take(self, whole: bytes, settled: int) -> bytes:
        """Return the bytes up to `settled` masked, and keep what follows them."""
        room = len(whole) if self.limit is None else max(0, self.limit - self._passed)
        ready, at = [], 0
        for start, end, name in self.mask.matches(whole):
            if start >= min(settled, room):
                break
            ready += [whole[at:start], name]
            self.count += 1
            at = end
        end = max(at, settled)
        self._kept, self._passed = whole[end:], self._passed + end
        return b"".join([*ready, whole[at : min(end, room)]])


def _automaton(texts: list[bytes]) -> BytesAhoCorasick | None:
    """Return what finds the texts. Only this kind is linear, to build and to search, whatever the texts are.

    The others try whole texts at each place first, or make a table that is quadratic in their length.
    """
    return BytesAhoCorasick(texts, MatchKind.Standard, Implementation.ContiguousNFA) if texts else None


# --- spellings -----------------------------------------------------------------------------------------


def _spellings(value: str) -> set[bytes]:
    """Return a secret as programs print it, and each long line of it as far as it is plain."""
    stripped = value.strip()
    found = _plain(value) | _in_base64(value.encode("utf-8", "surrogatepass"))
    if stripped != value and len(stripped) >= SHORTEST:
        found |= _plain(stripped) | _in_base64(stripped.encode("utf-8", "surrogatepass"))
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        found = found.union(*(_plain(line) for line in lines if len(line) >= LINE_CHARS and not line.startswith("---")))
    return found


def _plain(value: str) -> set[bytes]:
    """Return a text as it is, in JSON (also JSON within JSON), HTML, a URL, a shell, Python, hexadecimal and UTF-16.

    And all in small or in capital letters.
    """
    data = value.encode("utf-8", "surrogatepass")
    in_json = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    in_url = {quote(value, safe="", errors="surrogatepass"), quote(value, errors="surrogatepass")}
    in_url |= {quote_plus(value, errors="surrogatepass")}
    texts = {
        *in_json,
        *(json.dumps(each)[1:-1] for each in in_json),
        *(each.replace("<", "\\u003C").replace(">", "\\u003E").replace("&", "\\u0026") for each in in_json),
        *(escape(value), escape(value).replace("&#x27;", "&#39;"), escape(value, quote=False)),
        *in_url,
        *(_small_hex(each) for each in in_url),
        *(value.replace("\n", "\r\n"), repr(value)[1:-1], *_in_shell(value)),
        *(data.hex(), data.hex().upper()),
        *(value.lower(), value.upper()),  # as a host, a header, a text made ready for a search
    }
    wide = {value.encode(encoding, "surrogatepass") for encoding in ("utf-16-le", "utf-16-be")}
    return {data} | wide | {text.encode("utf-8", "surrogatepass") for text in texts}


def _small_hex(text: str) -> str:
    first, *rest = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _in_shell(value: str) -> set[str]:
    """Return a text as `export -p` shows it between double quotes, and as others do between single ones."""
    doubly = value.translate({ord(sign): f"\\{sign}" for sign in '\\"$`'})
    return {doubly, *(value.replace("'", each) for each in (r"'\''", "'\"'\"'"))}


def _in_base64(data: bytes) -> set[bytes]:
    """Return the base64 of a text at any of the three places it can have in a longer one, such as "user:token".

    Without the letters that depend on what stands beside it; with them where it ends the text. What is broken into
    lines is known line by line.
    """
    found: set[bytes] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before, lost in ((0, 0), (1, 2), (2, 3)):
            letters = encode(b"\0" * before + data).rstrip(b"=")[lost:]
            found |= {letters, letters[: 8 * (before + len(data)) // 6 - lost]}
        whole = encode(data).rstrip(b"=")
        for width in _WRAPS:
            lines = [whole[at : at + width] for at in range(0, len(whole), width)]
            found.update(line for line in lines if len(lines) > 1 and len(line) >= LINE_CHARS)
    return found
