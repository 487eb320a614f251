"""Takes the text of some pages out of a PDF; runs in a process of its own."""

import codecs
import hashlib
import importlib
import pkgutil
import struct
import zlib
from typing import Any, BinaryIO

import pypdf
from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import DependencyError, PyPdfError

_CODECS = ("charmap", "cp932", "cp950", "gb18030", "gb2312", "gbk", "latin-1", "utf-16", "utf-16-be", "utf-16-le")
"""What texts in a PDF are written in, besides what Python always has."""

_BROKEN = (
    *(PyPdfError, ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError),
    *(RecursionError, TypeError, ValueError, struct.error, zlib.error),
)
"""What pypdf raises for a file that is not as the standard says."""


def load() -> None:
    """Import what pypdf itself imports only when it meets the need."""
    for package in (pypdf, pypdf.generic):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    for name in _CODECS:
        codecs.lookup(name)
    hashlib.md5(b"", usedforsecurity=False)  # OpenSSL reads its configuration


def parse(file: BinaryIO, args: dict[str, Any]) -> dict[str, Any]:
    """Return the number of pages and the text of those asked for.

    `args`: spans ([[first, last], …], or null for all), most (pages), chars, more. Pages past `chars` are left out,
    the first is cut after `more` characters more; a text of None stands for a page that can't be read.
    """
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            return {"fault": "it is encrypted, and no password is known"}
        total = len(reader.pages)
    except DependencyError:
        return {"fault": "it is encrypted in a way that is not supported"}
    except _BROKEN as error:
        return {"fault": f"it is broken ({str(error)[:200] or type(error).__name__})"}
    spans = args["spans"] or [[1, total]]
    numbers = [number for first, last in spans for number in range(first, min(last, total) + 1)]
    if len(numbers) > args["most"] or any(first > total for first, _ in spans):
        return {"total": total, "pages": []}
    return {"total": total, "pages": _pages(reader, numbers, args["chars"], args["more"])}


def _pages(reader: PdfReader, numbers: list[int], chars: int, more: int) -> list[tuple[int, str | None]]:
    pages: list[tuple[int, str | None]] = []
    for number in numbers:
        text = _text(reader.pages[number - 1])
        if pages and len(text or "") > chars:
            break
        pages.append((number, text and text[: chars + more]))
        chars -= len(text or "")
    return pages


def _text(page: PageObject) -> str | None:
    try:
        return page.extract_text()
    except _BROKEN:
        return None
