"""What a process opened stays out of its log."""

import logging
from io import StringIO

from workspaces import credentials
from workspaces.logs import MaskSecrets, Opened

VALUE = "tok-9f8e7d6c5b4a<&>x1"


def test_the_values_that_a_process_opened_are_bounded() -> None:
    opened = Opened()
    for number in range(opened.LIMIT + 5):
        opened.remember("TOKEN", f"value-number-{number}")
    opened.remember("TINY", "abc")
    mask = opened.mask()
    assert mask.text("value-number-2")[1] == 0
    assert mask.text(f"value-number-{opened.LIMIT}") == ("[masked TOKEN]", 1)
    assert mask.text("abc")[1] == 0


def test_the_log_shows_no_secret_in_words_arguments_or_tracebacks() -> None:
    credentials.unseal(credentials.seal(VALUE, credentials.SECRET), credentials.SECRET, "NPM_TOKEN")
    heard = StringIO()
    handler = logging.StreamHandler(heard)
    handler.addFilter(MaskSecrets())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError(f"no such token: {VALUE}")
    except ValueError:
        logger.exception("Failed with %s", VALUE, stack_info=True)
    logger.error("plain %d", 7)
    assert VALUE not in heard.getvalue()
    assert "Failed with [masked NPM_TOKEN]" in heard.getvalue()
    assert "ValueError: no such token: [masked NPM_TOKEN]" in heard.getvalue()
    assert heard.getvalue().endswith("plain 7\n")


def test_the_log_shows_no_credential_that_was_opened() -> None:
    credentials.unseal(credentials.seal("ann:s3cret-of-ann"))
    record = logging.LogRecord("x", 40, "x", 1, "git said %s", ("s3cret-of-ann",), None)
    assert MaskSecrets().filter(record)
    assert record.getMessage() == "git said [masked credential]"
