"""Bounds what one message of a socket may send before it is kept: daphne has one limit for what comes and what goes."""

import sys
from typing import Any

from agents.consumers import INBOUND_BYTES, TOO_BIG


def install() -> None:
    """Prepare the daphne server of this process, if it is one."""
    if "daphne.server" not in sys.modules:
        return
    # Only now: whoever imports this first decides which reactor there is, and daphne needs its own.
    from daphne.ws_protocol import WebSocketProtocol  # noqa: PLC0415

    WebSocketProtocol.onMessageFrameBegin = _begin_frame


def _begin_frame(protocol: Any, length: int) -> None:
    """Close with 1009 by what a frame says of its length, with all frames before it of the same message.

    What still comes is not kept, and within a second (closeHandshakeTimeout) the connection is dropped.
    """
    if protocol.message_data_total_length + length > INBOUND_BYTES and not protocol.failedByMe:
        protocol.failByDrop = False
        protocol._fail_connection(TOO_BIG, f"A message may have {INBOUND_BYTES} bytes.")
        protocol.message_data.clear()
    super(type(protocol), protocol).onMessageFrameBegin(length)
