"""What the log may not show: the secrets that this process has opened, and a filter that masks them."""

import logging

from workspaces.masking import SHORTEST, Mask

_format = logging.Formatter()


class Opened:
    """The secrets that this process has opened, whosesoever. The latest 2,000."""

    LIMIT = 2000

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._mask: Mask | None = None
        self.changes = 0
        """How often a value came that was not known: what was cut before may show half of it."""

    def remember(self, name: str, value: str) -> None:
        """Know a value from now on; one too short to be told from other text is not."""
        if len(value) < SHORTEST or self._values.get(value) == name:
            return
        self.changes += value not in self._values
        values = {**self._values, value: name}
        while len(values) > self.LIMIT:
            values.pop(next(iter(values)))
        self._values, self._mask = values, None

    def mask(self) -> Mask:
        """Return the mask of all of them; made anew after there was a new one."""
        if self._mask is None:
            self._mask = Mask((name, value) for value, name in self._values.items())
        return self._mask


opened = Opened()


class MaskSecrets(logging.Filter):
    """Goes on a handler. Masks the message with its arguments, and the tracebacks; other records stay as they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, masked."""
        mask = opened.mask()
        if not mask:
            return True
        message, count = mask.text(record.getMessage())
        if count:
            record.msg, record.args = message, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _format.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = mask.text(record.exc_text)[0]
        if record.stack_info:
            record.stack_info = mask.text(record.stack_info)[0]
        return True
