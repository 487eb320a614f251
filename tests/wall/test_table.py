"""The table of attacks is whole, and docs/security.md tells it."""

from collections import Counter

from tests.wall.attack import Group
from tests.wall.attacks import ATTACKS
from tests.wall.table import SECURITY, written


def test_the_document_names_every_attack() -> None:
    text = SECURITY.read_text()
    assert written(text, ATTACKS) == text, "run `python -m tests.wall.table`"


def test_there_are_enough_of_every_kind_and_each_has_a_name_of_its_own() -> None:
    assert len(ATTACKS) >= 100
    assert set(Counter(attack.group for attack in ATTACKS)) == set(Group)
    assert max(Counter(attack.name for attack in ATTACKS).values()) == 1


def test_only_the_fork_bomb_has_no_control() -> None:
    assert [attack.name for attack in ATTACKS if attack.control.words.startswith("none")] == [
        "Processes multiply without an end"
    ]
