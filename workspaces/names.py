r"""How the bytes of a path are written as text: one that is not UTF-8 as `\xNN`, a form taken back on the way in."""

import os
import re
from collections.abc import Collection

_RAW = re.compile("[\udc80-\udcff]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")


def shown(path: bytes | str) -> str:
    r"""Return the path as text that every database takes: a byte that is not UTF-8 is `\xNN`."""
    return _RAW.sub(lambda match: f"\\x{ord(match[0]) - 0xDC00:02x}", os.fsdecode(path))


def raw(path: str) -> bytes:
    r"""Return the bytes of a path given as text, by `surrogateescape` or as `\xNN`."""
    return os.fsencode(_ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path))


def find(path: str, among: Collection[bytes]) -> bytes:
    r"""Return the bytes that `path` stands for; a name with a literal `\xNN` in it wins if it is among those known."""
    literal = os.fsencode(path)
    return literal if literal in among else raw(path)
