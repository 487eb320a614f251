"""The shapes of events: one per kind, private keys left out."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter

from agents.models import Event, Kind, Run
from agents.schema import DATA, PRIVATE, EventOut, event_json
from tests.conftest import work_once


def _event(kind: Kind, **data: object) -> Event:
    at = datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC)
    return Event(seq=3, at=at, agent="implementer", step=2, kind=kind, data=data)


def test_every_kind_has_its_shape() -> None:
    assert DATA.keys() == set(Kind)


def test_an_event_has_the_keys_of_the_contract() -> None:
    assert event_json(_event(Kind.NOTE, text="Hi", to="human")) == {
        "seq": 3,
        "at": "2026-01-02T03:04:05.678Z",
        "agent": "implementer",
        "step": 2,
        "kind": "note",
        "data": {"text": "Hi", "to": "human"},
    }


def test_a_providers_own_blocks_are_private() -> None:
    assert PRIVATE["model_response"] == {"blocks", "provider"}
    shown = event_json(_event(Kind.MODEL_RESPONSE, text="Hi", blocks=[1], provider="x"))
    assert shown["data"] == {"text": "Hi"}


def test_a_text_in_a_file_is_shown_by_its_ends_wherever_it_stands() -> None:
    kept = {"$body": "body-1", "size": 40_000, "head": "a", "tail": "z"}
    shown = event_json(_event(Kind.TOOL_CALL, call_id="c", tool="write_file", input={"content": kept}))
    assert shown["data"]["input"]["content"] == {
        "truncated": True,
        "ref": "body-1",
        "size": 40_000,
        "head": "a",
        "tail": "z",
    }


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Kind.STATUS, {"from": "queued", "to": "preparing", "reason": "", "by": ""}),
        (Kind.TOOL_CALL, {"call_id": "c", "tool": "t", "input": "not an object", "resolved": {}, "effect": ""}),
        (Kind.SNAPSHOT, {"number": 1, "call_id": "c", "tree": "t", "files": [], "file_count": 0, "hidden": []}),
        (Kind.REVIEW, {"review_id": 1, "author": "rosa", "by_human": True, "verdict": "approve", "score": None}),
    ],
)
def test_what_is_written_fits_the_shape_that_is_documented(kind: Kind, data: dict[str, object]) -> None:
    parsed = TypeAdapter[object](EventOut).validate_python(event_json(_event(kind, **data)))
    assert getattr(parsed, "kind") == kind  # noqa: B009 -- the union has no common class to the type checker


@pytest.mark.django_db(transaction=True)
def test_a_run_writes_no_field_that_is_not_documented(launch: Callable[..., Run]) -> None:
    def say(name: str, **given: Any) -> dict[str, Any]:
        return {"tool_calls": [{"name": name, "input": given}]}

    script = {
        "implementer": [
            say("read_file", file_path="calc.py"),
            say("run_command", command="sed -i s/5/4/ tests/test_calc.py; touch new; echo done"),
            say("write_file", file_path="tests/test_calc.py", content="x"),
            say("finish_task", summary="Done.", modified_files=["new"], risk_level="low"),
        ],
        "reviewer": [say("submit_review", verdict="approve", score=7, summary="Fine.", findings=[])],
    }
    launch(script, policy={"verify": ["echo 1 passed"]})
    run = work_once()
    assert run is not None
    seen: dict[str, set[str]] = {}
    for event in run.events.order_by("seq"):
        parsed = TypeAdapter[Any](EventOut).validate_python(event_json(event))
        seen.setdefault(parsed.kind, set()).update(parsed.data.model_extra)
    assert {"proof", "review", "snapshot", "tool_result", "guard"} <= seen.keys()
    assert {kind: extra for kind, extra in seen.items() if extra} == {}
