"""The hub of the board: what makes a row be rendered anew."""

import pytest

from agents import board_hub
from agents.models import Run
from tests.agents.transcripts import make_run


@pytest.mark.django_db
@pytest.mark.parametrize(
    "moved", [{"last_seq": 9}, {"status": "failed"}, {"proof_state": "red"}, {"proof_snapshot": 2}]
)
def test_a_row_moves_with_what_it_shows(moved: dict[str, object]) -> None:
    run = make_run()
    before = board_hub._marks(set())
    assert board_hub._marks(set()) == before
    Run.objects.filter(pk=run.pk).update(**moved)
    assert board_hub._marks(set()) != before
