"""Pictures for models that see: told by their first bytes, looked at apart, scaled to what a model takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from workspaces import apart
from workspaces.paths import WorkspaceError

HEAD_BYTES = 16
LIMIT_BYTES = 32 << 20
SIDE = 2000
"""Pixels; a larger picture is scaled down."""
SENT_CHARS = 5 << 20
"""Of base64, so that a provider's 5 MB hold however it counts."""


@dataclass(frozen=True)
class Picture:
    """A picture as it is (`format`, `width`, `height`, `frames`) and as it is sent (base64)."""

    format: str
    width: int
    height: int
    frames: int
    media_type: str
    sent_width: int
    sent_height: int
    data: str
    thumbnail: str

    @property
    def is_scaled(self) -> bool:
        return (self.sent_width, self.sent_height) != (self.width, self.height)


def kind(head: bytes) -> str:
    """Return PNG, JPEG, GIF or WEBP where the first HEAD_BYTES bytes of a file say so, else ""."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    return "WEBP" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def look(file: BinaryIO, size: int, format: str, name: str, stop: Callable[[], bool] = lambda: False) -> Picture:
    """Return the picture in the file, upright, the first frame of an animation; about 0.1 s and up to 40.

    Raises WorkspaceError: TOO_LARGE, BINARY_FILE with the reason for a broken one; apart.GivenUp.
    """
    if size > LIMIT_BYTES:
        raise WorkspaceError(
            "TOO_LARGE",
            f"{name} is a {format} picture of {size:,} bytes; pictures up to {LIMIT_BYTES:,} bytes can be looked at. "
            "Scale it down with a command first.",
        )
    try:
        found = apart.parse("picture", file, {"format": format, "side": SIDE, "chars": SENT_CHARS}, stop)
    except apart.Failed as error:
        raise WorkspaceError(
            "BINARY_FILE", f"{name} says it is a {format} picture ({size:,} bytes), but it can't be shown: {error}."
        ) from None
    return Picture(
        format=format,
        width=int(found["width"]),
        height=int(found["height"]),
        frames=int(found["frames"]),
        media_type=str(found["media_type"]),
        sent_width=int(found["sent_width"]),
        sent_height=int(found["sent_height"]),
        data=str(found["data"]),
        thumbnail=str(found["thumbnail"]),
    )
