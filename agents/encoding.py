"""Text that every database takes: one place that writes NUL, lone surrogates and raw path bytes as escapes."""

import re
from typing import Any

_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def safe_text(text: str) -> str:
    r"""Return the text with NUL as `\x00`, a raw path byte (surrogateescape) as `\xNN`, lone surrogates as `\uNNNN`."""
    return _UNSAFE.sub(_escape, text) if _UNSAFE.search(text) else text


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def safe(value: Any) -> Any:
    """Return JSON-like data with every text in it, keys included, made safe."""
    match value:
        case str():
            return safe_text(value)
        case dict():
            return {safe_text(str(key)): safe(item) for key, item in value.items()}
        case list() | tuple():
            return [safe(item) for item in value]
        case _:
            return value
