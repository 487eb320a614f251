"""A tool that writes, killed at every system call: the file is whole, and the journal's verdict is what is on disk."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection

from agents import journal, lease, team
from agents.models import CallState, Run, ToolCall
from agents.providers.base import Call
from agents.session import Session
from agents.tools import runner
from tests.agents.tools.bench import Bench
from tests.workspaces import strace
from workspaces import files
from workspaces.models import Baseline

WHY_NOT = strace.why_not()

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "strace works"),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="a pool of connections does not outlive a fork"),
]
EDIT = {"file_path": "calc.py", "old_string": "return a - b", "new_string": "return a + b"}


def test_an_edit_killed_anywhere_is_done_or_not_begun_and_the_journal_knows_which(launch: Callable[..., Run]) -> None:
    launch({"implementer": [], "reviewer": []})
    held = lease.claim()
    assert held is not None
    session = Session(held)
    team._prepare(session)
    place = session.place
    bench, call = Bench(place), Call("call_1", "edit_file", EDIT)
    bench.call("read_file", file_path="calc.py")
    prepared = runner.prepare(call, runner.available("implementer", "full"))
    journal.begin(session, call, prepared, None)
    context = replace(bench.context(), journal=journal.CallJournal(session, call.call_id))
    file = place.tree / "calc.py"
    old = file.read_bytes()
    new = old.replace(b"a - b", b"a + b")

    def prepare() -> None:
        file.write_bytes(old)
        ToolCall.objects.filter(call_id=call.call_id).update(writes={}, state=CallState.INTENT)
        Baseline.objects.all().delete()
        connection.close()  # a child must not go on with what its parent opened

    def act() -> None:
        assert not runner.execute(prepared, context).is_error
        bench.reads.save()

    found = []
    for point in strace.kill_points(prepare, act):
        assert file.read_bytes() in (old, new), point
        assert files.put_back_interrupted(place.tree, place.folder / "rescue") == []
        assert not list(place.tree.rglob(".sakura-*")), point
        verdict = journal.recover(session, ToolCall.objects.get(call_id=call.call_id))
        if file.read_bytes() == new:
            assert verdict is not None, point
            assert not verdict.is_error, point
            Bench(place).reads.save()  # what the next worker does
            assert Baseline.objects.get(path="calc.py").kind == Baseline.Kind.FILE
        else:
            assert verdict is None, point
        found.append(file.read_bytes())
    assert found.count(old) >= 15
    assert found.count(new) >= 3
