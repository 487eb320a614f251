"""Secret values taken out of what is shown: of texts, and of bytes as they stream by."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote


class Mask:
    """Knows secrets by their names, in the spellings in which programs show them."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._names = {
            spelling: name for name, value in (secrets or {}).items() if value for spelling in _spellings(value)
        }
        spellings = sorted(self._names, key=len, reverse=True)
        self.longest = len(spellings[0]) if spellings else 0
        self._found = re.compile(b"|".join(map(re.escape, spellings))) if spellings else None

    def __bool__(self) -> bool:
        return self._found is not None

    def data(self, data: bytes) -> tuple[bytes, int]:
        """Return the bytes without secrets, and how many were taken out."""
        return (data, 0) if self._found is None else self._found.subn(self.name, data)

    def text(self, text: str) -> tuple[str, int]:
        """Return the text without secrets, and how many were taken out."""
        if self._found is None:
            return text, 0
        masked, count = self.data(text.encode("utf-8", "surrogatepass"))
        return (masked.decode("utf-8", "surrogatepass"), count) if count else (text, 0)

    def stream(self) -> "Stream":
        """Return what masks bytes that come in pieces."""
        return Stream(self)

    def first(self, data: bytes, start: int) -> re.Match[bytes] | None:
        return self._found.search(data, start) if self._found else None

    def begins(self, data: bytes) -> bool:
        """Return whether the bytes are the beginning of a secret, but not yet the whole."""
        return any(len(data) < len(spelling) and spelling.startswith(data) for spelling in self._names)

    def name(self, match: re.Match[bytes]) -> bytes:
        return b"[masked " + self._names[match[0]].encode() + b"]"


@dataclass
class Stream:
    """Masks what streams by: only bytes that may be the beginning of a secret wait for the next piece."""

    mask: Mask
    count: int = 0
    _kept: bytes = field(default=b"", repr=False)

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown now."""
        if not self.mask:
            return data
        whole = self._kept + data
        ready, at = [], 0
        settled = self._settled(whole)
        while (found := self.mask.first(whole, at)) and found.start() < settled:
            ready += [whole[at : found.start()], self.mask.name(found)]
            self.count += 1
            at = found.end()
        end = max(at, settled)
        self._kept = whole[end:]
        return b"".join([*ready, whole[at:end]])

    def _settled(self, data: bytes) -> int:
        """Return up to where no later byte can change what is a secret."""
        first = max(0, len(data) - self.mask.longest + 1)
        return next((at for at in range(first, len(data)) if self.mask.begins(data[at:])), len(data))

    def end(self) -> bytes:
        """Return the rest, when nothing more will come."""
        rest, count = self.mask.data(self._kept)
        self.count, self._kept = self.count + count, b""
        return rest


def _spellings(value: str) -> set[bytes]:
    """Return a secret as programs print it: as it is, in JSON, HTML, a URL or base64, with a terminal's lines."""
    data = value.encode("utf-8", "surrogatepass")
    encoded = (base64.b64encode(data), base64.urlsafe_b64encode(data))
    return {
        data,
        data.replace(b"\n", b"\r\n"),
        json.dumps(value)[1:-1].encode(),
        json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
        escape(value).encode("utf-8", "surrogatepass"),
        quote(value, safe="", errors="surrogatepass").encode(),
        *(each.rstrip(b"=") for each in encoded),
    }
