"""The whole outputs of a run: read piece by piece, without ever leaving its folder of outputs, and without secrets."""

import os
import re
import stat
from dataclasses import dataclass

from workspaces import cuts
from workspaces.masking import Mask
from workspaces.models import Workspace

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
COPY_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Piece:
    """Some bytes of an output; `size` is that of the whole."""

    data: bytes
    size: int


def read_output(workspace: Workspace, ref: str, offset: int = 0, limit_bytes: int = 1_000_000) -> Piece:
    """Return bytes of the output stored under `ref`. A link is never followed. Raises FileNotFoundError."""
    if not NAME.fullmatch(ref):
        raise FileNotFoundError(ref)
    try:
        descriptor = os.open(workspace.outputs / ref, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FileNotFoundError(ref) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(ref)
        return Piece(cuts.read(descriptor, offset, limit_bytes), status.st_size)
    finally:
        os.close(descriptor)


def mask_stored(workspace: Workspace, ref: str, mask: Mask) -> None:
    """Mask an output that is stored already."""
    if not mask:
        return
    path, stream = workspace.outputs / ref, mask.stream()
    temporary = path.with_name(f"{ref}.part")
    with path.open("rb") as whole, temporary.open("wb") as file:
        while piece := whole.read(COPY_BYTES):
            file.write(stream.feed(piece))
        file.write(stream.end())
    if stream.count:
        temporary.replace(path)
    else:
        temporary.unlink()
