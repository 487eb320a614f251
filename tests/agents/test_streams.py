"""Passing text that lasts: what each durable piece holds."""

from agents.streams import Stream


def test_a_piece_begins_in_the_colours_in_which_the_one_before_ended() -> None:
    kept: list[tuple[str, int]] = []
    stream = Stream(1, "call_1", lambda text, offset: kept.append((text, offset)))
    for text in ("a\x1b[31mred", "still red\x1b[1m", "bold\x1b[0m", "plain"):
        stream.write(text)
        stream.keep()
    assert kept == [
        ("a\x1b[31mred", 0),
        ("\x1b[31mstill red\x1b[1m", 9),
        ("\x1b[31;1mbold\x1b[0m", 22),
        ("plain", 30),
    ]
