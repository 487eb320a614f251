"""Which encoding a file's bytes are in, and how text goes back: bytes that nobody edited never change."""

import codecs
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from charset_normalizer import from_bytes

from workspaces import lines
from workspaces.paths import WorkspaceError

DETECT_LIMIT_BYTES = 1_000_000
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_MAGIC = {
    b"%PDF-": "a PDF",
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
}
_TEXT_CONTROLS = frozenset("\t\n\r\f\v\b\x1b\x1a\x1c\x1d\x1e\x1f\x7f\x85")


class EncodingError(WorkspaceError):
    """BINARY_FILE or UNSUPPORTED_ENCODING."""


class Part(Protocol):
    """`text` goes where the characters from `start` to `end` are (workspaces.editing.Region)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Decoded:
    """A file as text. `guessed`: nothing in the file says its encoding, so only ASCII may be added to it."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    guessed: bool = False

    @property
    def newline(self) -> str:
        return lines.newline_style(self.text)

    def edited(self, data: bytes, regions: Iterable[Part], name: str, *, added: str = "") -> bytes:
        """Return the file's bytes with some parts of its text replaced; every other byte stays as it is.

        `data` are the bytes that were decoded, `added` what is new in the parts. Raises EncodingError where the
        encoding can't hold a part, or was guessed and what is added is not ASCII.
        """
        self._refuse_guess(added, name)
        offset = self._offsets(data)
        parts: list[bytes | memoryview] = [] if data else [self.bom]
        whole, end = memoryview(data), 0
        for region in regions:
            start = offset(region.start)
            parts += [whole[end:start], self._encoded(region.text, name)]
            end = offset(region.end)
        return b"".join([*parts, whole[end:]])

    def _refuse_guess(self, added: str, name: str) -> None:
        new = next((c for c in added if ord(c) > 127), None) if self.guessed else None
        if new is not None:
            raise EncodingError(
                "UNSUPPORTED_ENCODING",
                f"{name} seems to be {self.encoding}, a guess: only ASCII can be added, not {new!r}.",
            )

    def _encoded(self, text: str, name: str) -> bytes:
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise EncodingError(
                "UNSUPPORTED_ENCODING",
                f"{name} is {self.encoding}, which can't hold {error.object[error.start]!r}; write it in another way.",
            ) from None

    def _offsets(self, data: bytes) -> Callable[[int], int]:
        """Return what gives the place in the bytes of a place in the text; to be asked in order."""
        first, size = len(self.bom), len(data) - len(self.bom)
        for width in (1, 2):
            if size == width * len(self.text) and (width == 1 or self.encoding.startswith("utf-16")):
                return lambda at: first + width * at
        last, place = 0, first

        def offset(at: int) -> int:
            nonlocal last, place
            last, place = at, place + len(self.text[last:at].encode(self.encoding))
            return place

        return offset


def is_binary(data: bytes) -> bool:
    """Return whether a page takes the bytes for no text: as git does, by a NUL near the start."""
    return b"\0" in data[:8000]


def is_utf16(start: bytes) -> bool:
    """Return whether a file that starts so says that it is UTF-16."""
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def decode(data: bytes, name: str) -> Decoded:
    """Return the bytes of a file as text. Raises EncodingError."""
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise EncodingError("BINARY_FILE", f"{name} is {what}, not text ({len(data)} bytes).")
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) and len(data) % 4 == 0:
        raise EncodingError("UNSUPPORTED_ENCODING", f"{name} is UTF-32; convert it with a command first.")
    bom, encoding = next(((bom, name) for bom, name in _BOMS if data.startswith(bom)), (b"", "utf-8"))
    if encoding == "utf-8" and b"\0" in data:
        raise EncodingError("BINARY_FILE", f"{name} holds NUL bytes, so it is no text ({len(data)} bytes).")
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError:
        if bom:
            raise EncodingError("UNSUPPORTED_ENCODING", f"{name} says it is {encoding}, but is not.") from None
        return _guess(data, name)
    if encoding != "utf-8" and "\0" in text:
        raise EncodingError("BINARY_FILE", f"{name} holds NUL characters, so it is no text ({len(data)} bytes).")
    return Decoded(text, encoding, bom)


def _guess(data: bytes, name: str) -> Decoded:
    """Detect an encoding; it holds only if the bytes come back the same."""
    if len(data) > DETECT_LIMIT_BYTES:
        raise EncodingError(
            "UNSUPPORTED_ENCODING", f"{name} is not UTF-8 and too large ({len(data)} bytes) to guess its encoding."
        )
    best = from_bytes(data).best()
    text = str(best) if best else ""
    if best is None or _encoded(text, best.encoding) != data:
        raise EncodingError("UNSUPPORTED_ENCODING", f"{name} is in an unknown encoding; use a command.")
    if any(ord(c) < 32 and c not in _TEXT_CONTROLS for c in text):
        raise EncodingError("BINARY_FILE", f"{name} holds control characters, so it is no text ({len(data)} bytes).")
    return Decoded(text, best.encoding, guessed=True)


def _encoded(text: str, encoding: str) -> bytes | None:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return None
