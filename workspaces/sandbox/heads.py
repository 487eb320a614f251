"""The head of a request to the proxy: read within bounds, and taken only where there is one way to read it."""

import re
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from workspaces.sandbox.place import Way
from workspaces.targets import SHOWN, BadTarget, normal

HEAD_BYTES = 16 * 1024
HEAD_S = 10.0
_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~\x80-\xff]+) HTTP/(1\.[01])")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THIS_HOP = {"host", "connection", "keep-alive", "te", "upgrade", "http2-settings"}
"""Fields that are for the proxy itself (RFC 9110, 7.6.1), and the host, which is the target and nothing else."""
_FRAMING = {"content-length", "transfer-encoding"}


class Refused(Exception):
    """A request that is not passed on: the HTTP status, why in words for who asked, and what is told of it."""

    def __init__(self, status: str, why: str, way: Way = Way.REFUSED) -> None:
        super().__init__(why)
        self.status, self.why, self.way = status, why, way


@dataclass(frozen=True)
class Request:
    """Where to; the head to send there, empty for a tunnel (CONNECT); and what came after the head already."""

    target: str
    head: bytes
    rest: bytes


def read(client: socket.socket) -> Request | None:
    """Return what is asked for; None where nothing was. Raises Refused, OSError."""
    found = _read(client, time.monotonic() + HEAD_S)
    if found is None:
        return None
    target, head = parse(found[0])
    return Request(target, head, found[1])


def _read(client: socket.socket, until: float) -> tuple[bytes, bytes] | None:
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        if len(data) > HEAD_BYTES:
            raise Refused("431 Request Header Fields Too Large", f"The head has more than {HEAD_BYTES} bytes.")
        client.settimeout(max(0.001, until - time.monotonic()))
        try:
            piece = client.recv(4096)
        except TimeoutError:
            if not data:
                return None
            raise Refused("408 Request Timeout", f"The head did not come within {HEAD_S:.0f} s.") from None
        if not piece and not data:
            return None
        if not piece:
            raise Refused("400 Bad Request", "The request ended early.")
        data += piece
    return data[:end], data[end + 4 :]


def parse(head: bytes) -> tuple[str, bytes]:
    """Return the target host:port, and the head to send on: empty for CONNECT. Raises Refused."""
    lines = head.decode("latin-1").split("\r\n")
    if any(map(_CONTROL.search, lines)):
        raise Refused("400 Bad Request", "The head holds a control character, or a line that ends in half a line end.")
    found = _LINE.fullmatch(lines[0])
    if found is None:
        raise Refused("400 Bad Request", "The request line can't be read.")
    method, url, version = found.groups()
    fields = [_field(line, number) for number, line in enumerate(lines[1:], 2)]
    if method == "CONNECT":
        return _target(url), b""
    _check_framing(fields, version)
    target, path = _split(url)
    first = [f"{method} {path} HTTP/{version}", f"Host: {target.removesuffix(':80')}", "Connection: close"]
    lines = [*first, *(f"{name}: {value}" for name, value in _passed_on(fields))]
    return target, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _field(line: str, number: int) -> tuple[str, str]:
    """Read one line; it may neither go on a line before nor have a blank before its colon (RFC 9112, 5.1 and 5.2)."""
    found = _FIELD.fullmatch(line)
    if found is None:
        raise Refused("400 Bad Request", f"Line {number} of the head can't be read.")
    return found[1], found[2]


def _check_framing(fields: list[tuple[str, str]], version: str) -> None:
    """Refuse a body whose end two programs could see at two places (RFC 9112, 6.3)."""
    coded = [value.lower() for name, value in fields if name.lower() == "transfer-encoding"]
    sizes = {value for name, value in fields if name.lower() == "content-length"}
    if (coded and (sizes or coded != ["chunked"] or version == "1.0")) or len(sizes) > 1:
        raise Refused("400 Bad Request", "Content-Length and Transfer-Encoding do not say where the body ends.")
    if not all(re.fullmatch(r"[0-9]{1,18}", size) for size in sizes):
        raise Refused("400 Bad Request", "Content-Length is no number.")


def _passed_on(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    named = {
        word.strip().lower() for name, value in fields if name.lower() == "connection" for word in value.split(",")
    }
    left_out = _OF_THIS_HOP | (named - _FRAMING)
    return [each for each in fields if each[0].lower() not in left_out and not each[0].lower().startswith("proxy-")]


def _split(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Refused("400 Bad Request", f"The address can't be read: {error}.") from error
    if parts.scheme != "http":
        raise Refused("400 Bad Request", "This proxy knows http:// addresses and CONNECT.")
    target = _target(parts.netloc if re.search(r":[0-9]*$", parts.netloc) else f"{parts.netloc}:80")
    return target, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _target(text: str) -> str:
    try:
        return normal(text)
    except BadTarget as bad:  # told only where it shows the text whole: half a secret can't be masked
        why = str(bad) if len(text) <= SHOWN else "The address names no host:port that can be read."
        raise Refused("400 Bad Request", why) from bad
