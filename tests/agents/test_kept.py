"""The bounded memory of rendered results."""

from agents.kept import Kept


def test_a_result_is_made_once_and_forgotten_when_others_were_used_since() -> None:
    kept: Kept[str] = Kept(80, len)
    made: list[str] = []

    def ask(key: str) -> None:
        kept.get(key, lambda: made.append(key) or key * 10)  # type: ignore[func-returns-value]

    for key in ("a", "a", *"bcdefgh", "a", "i", "a", "b"):
        ask(key)
    assert made == [*"abcdefgh", "i", "b"]


def test_a_result_too_heavy_to_keep_is_made_each_time() -> None:
    kept: Kept[str] = Kept(8, len)
    assert kept.get("k", lambda: "long 1") == "long 1"
    assert kept.get("k", lambda: "long 2") == "long 2"
