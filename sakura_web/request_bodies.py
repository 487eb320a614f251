"""Bounds what one request may send before anything reads it: daphne would keep any number of bytes on disk first."""

import sys
from typing import Any

LIMIT_BYTES = 16 * 1024 * 1024
"""More than any form or upload of ours takes."""
_REFUSAL = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def install() -> None:
    """Prepare the daphne server of this process, if it is one."""
    if "daphne.server" not in sys.modules:
        return
    # Only now: whoever imports this first decides which reactor there is, and daphne needs its own.
    from daphne.http_protocol import WebRequest  # noqa: PLC0415

    WebRequest.gotLength = _got_length
    WebRequest.handleContentChunk = _handle_chunk


def _got_length(request: Any, length: int | None) -> None:
    """Refuse a body that says of itself that it is too long; a chunked one (None) is counted as it comes."""
    request.received_bytes = 0
    if length is not None and length > LIMIT_BYTES:
        _refuse(request)
    super(type(request), request).gotLength(0 if request.received_bytes < 0 else length)


def _handle_chunk(request: Any, data: bytes) -> None:
    if request.received_bytes < 0:
        return
    request.received_bytes += len(data)
    if request.received_bytes > LIMIT_BYTES:
        _refuse(request)
    else:
        super(type(request), request).handleContentChunk(data)


def _refuse(request: Any) -> None:
    """Answer 413 and hang up; what still comes is not kept."""
    request.received_bytes = -1
    request.channel.transport.write(_REFUSAL)
    request.channel.loseConnection()
