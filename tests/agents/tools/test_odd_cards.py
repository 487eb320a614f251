"""Cards of data that no tool of today says: of other shapes, of an older version, hostile, or huge."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents import outcomes
from agents.cards import Card
from agents.tools.base import REGISTRY
from tests.agents.tools.bench import Bench
from tests.agents.tools.carding import FILES, SCENES, card, furnished
from tests.workspaces.test_skills import workspace_with
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(repository: Repository, source: Path) -> Iterator[Bench]:
    made = furnished(workspace_with(repository, source, FILES))
    yield made
    made.jobs.stop(made.jobs.running())


SCRIPT = "<script>alert(1)</script>\u202e"
JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**20,
    "",
    SCRIPT,
    [],
    [None, 1, SCRIPT, [], {}],
    [[SCRIPT, -1, None, {}], ["+", 1, 2], ["-", "x", [], SCRIPT]],
    [{"path": [], "line": "x", "name": {}, "commands": 3, "kind": [1], "text": SCRIPT, "index": -1}],
    {},
    {"$body": SCRIPT, "size": 9, "head": SCRIPT, "tail": "b"},
    {"$body": 1},
)


def spoiled(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The data with each value, to a depth of three, missing or of another shape."""
    for path in paths_in(data, 3):
        for junk in (*JUNK, ...):
            changed = copy.deepcopy(data)
            holder: Any = changed
            for step in path[:-1]:
                holder = holder[step]
            if junk is not ...:
                holder[path[-1]] = junk
            elif isinstance(holder, dict):
                del holder[path[-1]]
            yield changed


def paths_in(value: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(min(1, len(value))) if isinstance(value, list) else ()
    )
    for key in keys if depth else ():
        yield (key,)
        yield from ((key, *rest) for rest in paths_in(value[key], depth - 1))


@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_data_of_another_shape_never_break_a_card(bench: Bench, tool: str) -> None:
    made = SCENES[tool][0](bench)
    for data in spoiled(made.data | {"fact": None}):
        odd = card(tool, made.input, data, made.content)
        html = odd.html() + odd.body_html()
        assert "<script" not in html
        assert "\u202e" not in html


@pytest.mark.parametrize("tool", sorted(REGISTRY))
@pytest.mark.parametrize("junk", JUNK)
def test_input_and_content_of_another_shape_never_break_a_card(tool: str, junk: Any) -> None:
    given = dict.fromkeys(REGISTRY[tool].input.model_fields, junk) if junk is not None else None
    for more in ({}, {"is_error": True, "code": junk}, {"duration_ms": junk, "output_ref": junk}):
        odd = card(tool, given, junk, junk, **more)
        odd.call.data["resolved"] = junk
        html = odd.html() + odd.body_html() + odd.verb
        assert "<script" not in html
    busy = Card(odd.call)
    assert "<script" not in busy.html() + busy.body_html()


def swollen(value: Any) -> Any:
    """The data with every list and every text as long as no tool makes them."""
    match value:
        case dict():
            return {key: swollen(item) for key, item in value.items()}
        case list():
            return [swollen(item) if index < 1 else item for index, item in enumerate(value)] * 3000
        case str() if not value.startswith("data:") and len(value) > 8:
            return value * 3000
        case _:
            return value


@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_a_card_is_bounded_whatever_the_tool_said(bench: Bench, tool: str) -> None:
    made = SCENES[tool][0](bench)
    huge = card(tool, made.input, swollen(made.data), made.content * 2000)
    assert len(huge.body_html()) < 1_000_000
    assert len(huge.html()) < 30_000
    assert len(outcomes.outcome(huge.told)) < 5
