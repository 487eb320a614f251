"""The text of PDFs, page by page."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from workspaces import apart, cuts
from workspaces.paths import WorkspaceError

MAGIC = b"%PDF-"
LIMIT_BYTES = 64 << 20
PAGES = 20
"""At most so many at once."""

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Pages:
    """Some pages' texts, None for one that can't be read, and how many pages there are."""

    texts: tuple[tuple[int, str | None], ...]
    total: int


def spans(pages: str) -> Spans:
    """Return the ranges of pages that "3", "1-5" or "1-3,7" names, in order and apart.

    Raises WorkspaceError INVALID_INPUT.
    """
    found: list[tuple[int, int]] = []
    for part in pages.split(",")[: PAGES + 1]:
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:[-–]\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise WorkspaceError(
                "INVALID_INPUT", f'pages: {pages[:60]!r} names no pages; write it as "3", "1-5" or "1-3,7".'
            )
        found.append((first, last))
    return _apart(found)


def _apart(found: Sequence[tuple[int, int]]) -> Spans:
    """Return the ranges sorted, those joined that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def written(spans: Sequence[tuple[int, int]]) -> str:
    """Return ranges of pages as `spans` reads them."""
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)


def of_numbers(numbers: Sequence[int]) -> str:
    """Return page numbers as ranges."""
    return written(_apart([(number, number) for number in numbers]))


def read(
    file: BinaryIO,
    size: int,
    wanted: Spans | None,
    chars: int,
    name: str,
    stop: Callable[[], bool] = lambda: False,
) -> Pages:
    """Return the pages' texts, as many pages as fit into `chars`; 0.3 s and up to 40.

    The first is there in any case, with more than `chars` only where it was cut.

    Raises WorkspaceError: TOO_LARGE, RANGE, BINARY_FILE with the reason; apart.GivenUp.
    """
    if size > LIMIT_BYTES:
        raise WorkspaceError("TOO_LARGE", f"{name} is a PDF of {size:,} bytes; up to {LIMIT_BYTES:,} can be read.")
    if wanted and sum(last - first + 1 for first, last in wanted) > PAGES:
        raise WorkspaceError("TOO_LARGE", f"pages: {written(wanted)} are more than {PAGES} pages; ask for fewer.")
    try:
        args = {"spans": wanted, "most": PAGES, "chars": chars, "more": 1 + cuts.reach()}
        found = apart.parse("pdf", file, args, stop)
    except apart.Failed as error:
        raise WorkspaceError("BINARY_FILE", f"{name} is a PDF ({size:,} bytes) that can't be read: {error}.") from None
    texts = ((int(number), text and cuts.head(text, chars + 1)) for number, text in found["pages"])
    pages = Pages(tuple(texts), int(found["total"]))
    _refuse(pages, wanted, name)
    return pages


def _refuse(pages: Pages, wanted: Spans | None, name: str) -> None:
    if wanted and (missing := [first for first, _ in wanted if first > pages.total]):
        raise WorkspaceError("RANGE", f"{name} has {pages.total} pages, so it has no page {missing[0]}.")
    if not pages.texts and pages.total:
        raise WorkspaceError(
            "TOO_LARGE",
            f'{name} has {pages.total} pages, too many for one read. Ask for up to {PAGES} with pages, such as "1-5".',
        )
