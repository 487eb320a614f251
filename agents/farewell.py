"""Ends the sockets of a daphne server in an orderly way: close code 1012, and in time before the server stops."""

import asyncio
import sys
from typing import Any, cast

from agents import consumers


def install() -> None:
    """Prepare the daphne server of this process, if it is one; other servers close sockets with 1012 by themselves."""
    if "daphne.server" not in sys.modules:
        return
    # Only now: whoever imports these first decides which reactor there is, and daphne needs its own.
    from daphne.ws_protocol import WebSocketProtocol  # noqa: PLC0415
    from twisted.internet import reactor  # noqa: PLC0415

    WebSocketProtocol.serverClose = _close
    cast(Any, reactor).addSystemEventTrigger("before", "shutdown", _close_all)


def _close(protocol: Any, code: int | None = None) -> None:
    """Close a socket. autobahn lets an application send only 1000 and 3000–4999; the others are a server's own."""
    code = code or 1000
    if code == 1000 or 3000 <= code <= 4999:
        protocol.sendClose(code=code)
    else:
        protocol.sendCloseFrame(code=code, isReply=False)


def _close_all() -> Any:
    from twisted.internet.defer import Deferred  # noqa: PLC0415 -- as above

    return Deferred.fromFuture(asyncio.ensure_future(consumers.close_all()))
