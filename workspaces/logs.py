"""What the log may not show: a filter that masks every secret this process has opened."""

import logging

from workspaces.masking import opened

_format = logging.Formatter()


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
