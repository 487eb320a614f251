"""What a process remembers of the secrets it opened, for its log."""

from workspaces.logs import Opened


def test_the_values_that_a_process_opened_are_bounded() -> None:
    opened = Opened()
    for number in range(opened.LIMIT + 5):
        opened.remember("TOKEN", f"value-number-{number}")
    opened.remember("TINY", "abc")
    mask = opened.mask()
    assert mask.text("value-number-2")[1] == 0
    assert mask.text(f"value-number-{opened.LIMIT}") == ("[masked TOKEN]", 1)
    assert mask.text("abc")[1] == 0
