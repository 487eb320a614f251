"""The supervisor: what becomes of a run whose thread ends before it could move it on."""

import threading
from collections.abc import Callable

import pytest
from django.db import OperationalError

from agents import lease, team, worker
from agents.models import Run, Status
from agents.session import Session
from tests.agents.test_team import SCRIPT
from tests.conftest import work_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_that_lost_the_database_is_given_back_and_goes_on(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    session = Session(held)

    def lose(session: Session) -> None:
        raise OperationalError("the connection is closed")

    with monkeypatch.context() as patch:
        patch.setattr(team, "drive", lose)
        worker.work(session)
    assert lease.claim() is None
    supervisor = worker.Supervisor(concurrency=1)
    ended = threading.Thread()
    supervisor._sessions[ended] = session
    supervisor._let_go()
    assert supervisor._sessions == {}
    finished = work_once()
    assert finished is not None
    assert (finished.pk, finished.state, finished.takeovers) == (run.pk, Status.AWAITING_HUMAN, 0)
