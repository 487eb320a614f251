"""Conversations: derived from events, and never larger than the model's window."""

from collections.abc import Callable

import pytest

from agents import conversation
from agents.conversation import MASKED, TOO_MUCH, Conversation
from agents.models import Agent, Run
from agents.providers.base import Answer, AnswersTurn, Call, ModelTurn, UserTurn
from tests.agents.test_team import FINISH, READ, SCRIPT, review, say
from tests.conftest import work_once

WINDOW = 10_000


def after_reads(count: int, chars: int) -> Conversation:
    """Return a conversation with that many big reads in it."""
    talk = Conversation(Agent.IMPLEMENTER)
    talk.tell("Mend it.")
    for number in range(count):
        call = Call(f"c{number}", "read_file", {"file_path": f"{number}.py"})
        talk.responded(ModelTurn("", (call,)), used_tokens=talk.next_tokens)
        talk.answered(Answer(call.call_id, "x" * chars), step=number + 1)
    return talk


def contents(talk: Conversation) -> list[str]:
    return [answer.content for turn in talk.turns if isinstance(turn, AnswersTurn) for answer in turn.answers]


def test_below_the_mark_nothing_is_taken_out() -> None:
    talk = after_reads(2, 1000)
    assert talk.mask(WINDOW) == []
    assert MASKED not in contents(talk)


def test_big_reads_give_way_from_the_oldest_and_the_last_two_stay() -> None:
    talk = after_reads(6, 8000)
    assert talk.next_tokens > 0.7 * WINDOW
    gone = talk.mask(WINDOW)
    assert gone == list(range(1, len(gone) + 1))
    assert contents(talk)[: len(gone)] == [MASKED] * len(gone)
    assert all(len(text) == 8000 for text in contents(talk)[-2:])
    assert talk.next_tokens <= 0.7 * WINDOW


def test_a_full_context_can_be_emptied_but_for_the_last_result() -> None:
    talk = after_reads(3, 8000)
    assert talk.make_room() == [1, 2]
    assert [text == MASKED for text in contents(talk)] == [True, True, False]


def test_of_results_that_came_together_the_largest_gives_way_first() -> None:
    talk = Conversation(Agent.IMPLEMENTER)
    talk.responded(ModelTurn("", tuple(Call(name, "read_file", {}) for name in "abc")), used_tokens=10)
    for name, chars in (("a", 4000), ("b", 80_000), ("c", 2000)):
        talk.answered(Answer(name, "x" * chars), step=1)
    assert talk.mask(WINDOW) == [1]
    assert contents(talk) == ["x" * 4000, TOO_MUCH, "x" * 2000]
    assert [talk.make_room(), talk.make_room(), talk.make_room()] == [[1], [1], []]


def test_a_loaded_conversation_is_counted_anew() -> None:
    talk = after_reads(6, 8000)
    talk.next_tokens = 100
    talk.count(500)
    assert talk.next_tokens > 12_000
    assert talk.mask(WINDOW) == [1, 2, 3, 4]


def test_words_wait_until_the_open_calls_have_their_results() -> None:
    talk = Conversation(Agent.IMPLEMENTER)
    talk.responded(ModelTurn("", (Call("a", "glob", {}), Call("b", "glob", {}))), used_tokens=10)
    talk.tell("Hurry.")
    talk.answered(Answer("b", "second"), step=1)
    talk.answered(Answer("a", "first"), step=1)
    *_, answers, words = talk.turns
    assert isinstance(answers, AnswersTurn)
    assert [answer.content for answer in answers.answers] == ["first", "second"]
    assert words == UserTurn("Hurry.")


@pytest.mark.django_db(transaction=True)
def test_an_implementer_hears_what_the_reviewer_asked_for(launch: Callable[..., Run]) -> None:
    finding = {"severity": "major", "file": "calc.py", "line": 2, "message": "Floats?", "suggestion": "Say so."}
    asked = review("request_changes", findings=[finding])
    launch({"implementer": [say(READ), say(FINISH), say(FINISH)], "reviewer": [asked, review("approve")]})
    run = work_once()
    assert run is not None
    talk = conversation.load(run, Agent.IMPLEMENTER)
    told = [turn.text for turn in talk.turns if isinstance(turn, UserTurn)]
    assert told[0] == "add subtracts. Mend it."
    assert "The reviewer asks for changes." in told[1]
    assert "[major] calc.py:2 Floats? Suggestion: Say so." in told[1]


@pytest.mark.django_db(transaction=True)
def test_a_reviewer_starts_afresh_in_each_round_but_its_script_goes_on(launch: Callable[..., Run]) -> None:
    script = {
        "implementer": [say(READ), say(FINISH), say(FINISH)],
        "reviewer": [review("request_changes"), review("approve")],
    }
    launch(script)
    run = work_once()
    assert run is not None
    talk = conversation.load(run, Agent.REVIEWER)
    assert sum(isinstance(turn, ModelTurn) for turn in talk.turns) == 1
    assert talk.responses == 2


@pytest.mark.django_db(transaction=True)
def test_what_was_said_live_is_what_the_events_say(launch: Callable[..., Run]) -> None:
    launch(SCRIPT)
    run = work_once()
    assert run is not None
    talk = conversation.load(run, Agent.IMPLEMENTER)
    assert talk.open_calls == []
    assert talk.claim is not None
    assert talk.claim["summary"] == "Mended add."
