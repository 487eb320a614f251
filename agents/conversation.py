"""What a model is told: the turns of one agent, derived from the run's events and from nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from agents import events, proof_words
from agents.models import Agent, Event, Kind, ProofState, Run, Status, Verdict
from agents.providers.base import Answer, AnswersTurn, Call, ModelTurn, Turn, UserTurn
from agents.providers.tokens import IMAGE_TOKENS, estimate_tokens
from workspaces.models import Snapshot

MASK_AT = 0.7
"""Share of the context window from which old results give way to one line each."""
MASK_DOWN_TO = 0.4
KEEP_LAST = 2
"""Turns of results that stay, unless they alone fill the window."""
FULL_AT = 0.9
"""Share of the window from which it counts as full."""
MASKED = "[This result was taken out to save room. Make the call again if you need it.]"
TOO_MUCH = "[This result did not fit beside the others. Make the call again by itself, or ask for a part of it.]"


@dataclass
class Conversation:
    """One agent's turns. `open_calls` are those of the last response that have no result yet."""

    agent: Agent
    turns: list[Turn] = field(default_factory=list)
    open_calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    waiting: list[UserTurn] = field(default_factory=list)
    responses: int = 0
    silent: int = 0
    """Responses in a row that asked for no call."""
    steps: dict[int, int] = field(default_factory=dict)
    """Index of a turn of results → the step it belongs to."""
    next_tokens: int = 0
    """About how many the next request holds: what the provider counted last, and an estimate of what came since."""
    claim: dict[str, Any] | None = None
    """What the last FINISH call said, until somebody speaks to the agent again."""

    def tell(self, text: str) -> None:
        """Add words for the agent; they wait until open calls have their results."""
        self.next_tokens += estimate_tokens(text)
        self.claim = None
        if self.open_calls:
            self.waiting.append(UserTurn(text))
        else:
            self.turns.append(UserTurn(text))

    def responded(self, turn: ModelTurn, used_tokens: int) -> None:
        """Add a model's response; its calls are open until `answered`."""
        self.turns.append(turn)
        self.open_calls = list(turn.calls)
        self.answers = []
        self.responses += 1
        self.silent = 0 if turn.calls else self.silent + 1
        self.next_tokens = used_tokens

    def answered(self, answer: Answer, step: int) -> None:
        """Add the result of one open call; the last one closes the turn."""
        self.answers.append(answer)
        self.next_tokens += _answer_tokens(answer)
        self.open_calls = [call for call in self.open_calls if call.call_id != answer.call_id]
        if self.open_calls:
            return
        model_turn = next(turn for turn in reversed(self.turns) if isinstance(turn, ModelTurn))
        order = {call.call_id: index for index, call in enumerate(model_turn.calls)}
        self.steps[len(self.turns)] = step
        self.turns.append(AnswersTurn(tuple(sorted(self.answers, key=lambda each: order[each.call_id]))))
        self.turns += self.waiting
        self.waiting = []

    def count(self, fixed_tokens: int) -> None:
        """Correct the estimate of a conversation that was loaded: all results are back that were masked before.

        `fixed_tokens` is what every request holds besides the turns.
        """
        self.next_tokens = max(self.next_tokens, fixed_tokens + sum(_turn_tokens(turn) for turn in self.turns))

    def mask(self, window: int) -> list[int]:
        """Replace the oldest results by one line each when the window fills.

        Return the steps whose results left the conversation. Many at once, so that the prompt cache breaks rarely.
        """
        if self.next_tokens <= window * MASK_AT:
            return []
        gone = self._mask_turns(KEEP_LAST, window * MASK_DOWN_TO)
        while self.next_tokens > window * FULL_AT and (more := self.make_room()):
            gone += more
        return gone

    def make_room(self) -> list[int]:
        """Replace all results but those of the last turn; if none is left, the largest of these.

        Return the steps whose results left the conversation, [] when there is nothing more to take.
        """
        return self._mask_turns(1, -1) or self._mask_largest()

    def _mask_turns(self, keep: int, down_to: float) -> list[int]:
        """Mask whole turns from the oldest on, but for the last `keep`, until so many tokens are left."""
        gone = []
        results = self._results()
        for index in results[: max(0, len(results) - keep)]:
            if self.next_tokens <= down_to:
                break
            if self._mask(index, _long(self.turns[index]), MASKED):
                gone.append(self.steps.get(index, 0))
        return gone

    def _mask_largest(self) -> list[int]:
        index = next(reversed(self._results()), -1)
        largest = max(_long(self.turns[index]), key=_answer_tokens, default=None) if index >= 0 else None
        if largest is None:
            return []
        self._mask(index, [largest], TOO_MUCH)
        return [self.steps.get(index, 0)]

    def _results(self) -> list[int]:
        return [index for index, turn in enumerate(self.turns) if isinstance(turn, AnswersTurn)]

    def _mask(self, index: int, chosen: list[Answer], words: str) -> bool:
        turn = self.turns[index]
        assert isinstance(turn, AnswersTurn)
        ids = {answer.call_id for answer in chosen}
        answers = (replace(each, content=words, images=()) if each.call_id in ids else each for each in turn.answers)
        self.turns[index] = AnswersTurn(tuple(answers))
        self.next_tokens = max(0, self.next_tokens - sum(map(_answer_tokens, chosen)))
        return bool(chosen)


def _long(turn: Turn) -> list[Answer]:
    """Return the answers that are longer than the words that would take their place."""
    assert isinstance(turn, AnswersTurn)
    return [answer for answer in turn.answers if len(answer.content) > len(TOO_MUCH) or answer.images]


def _answer_tokens(answer: Answer) -> int:
    return estimate_tokens(answer.content) + IMAGE_TOKENS * len(answer.images)


def _turn_tokens(turn: Turn) -> int:
    match turn:
        case UserTurn():
            return estimate_tokens(turn.text)
        case ModelTurn():
            return estimate_tokens(turn.text) + sum(estimate_tokens(str(call.input)) for call in turn.calls)
        case AnswersTurn():
            return sum(map(_answer_tokens, turn.answers))


def load(run: Run, agent: Agent) -> Conversation:
    """Derive the agent's conversation from the events.

    The implementer's spans the whole run; a reviewer starts afresh in each round, but its script goes on.
    """
    conversation = Conversation(agent)
    for event in _all(run.pk):
        if agent is Agent.REVIEWER and _starts_review(event):
            conversation = Conversation(agent, responses=conversation.responses)
        _add(conversation, event)
    return conversation


def _all(run_id: int) -> Iterator[Event]:
    """Yield the events in pages, so that no long read blocks the database."""
    last = 0
    while page := events.after(run_id, last):
        yield from page
        last = page[-1].seq


def _starts_review(event: Event) -> bool:
    return (
        event.kind == Kind.STATUS
        and event.data.get("to") == Status.REVIEWING
        and event.data.get("from") == Status.IMPLEMENTING
    )


def _add(conversation: Conversation, event: Event) -> None:
    mine = event.agent == conversation.agent
    data = event.data
    match event.kind:
        case Kind.MESSAGE if mine:
            conversation.tell(_text(event, data["text"]))
        case Kind.NOTE if data.get("to") == conversation.agent:
            conversation.tell(_text(event, data["text"]))
        case Kind.MODEL_RESPONSE if mine:
            conversation.responded(_model_turn(event), _tokens(data.get("usage", {})))
        case Kind.TOOL_RESULT if mine:
            conversation.answered(answer_of(event), event.step)
            if data["tool"] == conversation.agent.finish_tool and not data["is_error"]:
                conversation.claim = events.whole(event.run_id, data["data"])
        case Kind.REVIEW if conversation.agent is Agent.IMPLEMENTER and data["verdict"] == Verdict.REQUEST_CHANGES:
            conversation.tell(review_text(events.whole(event.run_id, data)))
        case Kind.PROOF if conversation.agent is Agent.IMPLEMENTER and data["state"] == ProofState.RED:
            conversation.tell(proof_words.for_implementer(events.whole(event.run_id, data)))
        case Kind.REVERT if conversation.agent is Agent.IMPLEMENTER:
            conversation.tell(revert_text(data))
        case _:
            pass


def _text(event: Event, value: Any) -> str:
    return str(events.whole(event.run_id, value))


def _tokens(usage: dict[str, int]) -> int:
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)


def _model_turn(event: Event) -> ModelTurn:
    data = events.whole(event.run_id, event.data)
    calls = tuple(Call(each["call_id"], each["name"], each["input"]) for each in data["tool_calls"])
    return ModelTurn(data["text"], calls, data.get("blocks"), data.get("provider", ""))


def answer_of(event: Event) -> Answer:
    """Return the answer to the model that a tool_result event stands for."""
    data = events.whole(event.run_id, event.data)
    images = tuple((kind, body) for kind, body in data.get("images", []))
    return Answer(data["call_id"], data["content"], data["is_error"], images)


def review_text(review: dict[str, Any]) -> str:
    """Return a review that asks for changes as the words the implementer reads."""
    who = f"{review['author']} (a human; their word counts)" if review["by_human"] else "The reviewer"
    lines = [f"{who} asks for changes.", review["summary"], *(_finding(each) for each in review["findings"])]
    return "\n".join([line for line in lines if line] + ["Make these changes, then call finish_task again."])


def _finding(finding: dict[str, Any]) -> str:
    where = ":".join(str(part) for part in (finding.get("file"), finding.get("line")) if part)
    words = [f"- [{finding['severity']}]" if finding.get("severity") else "-", where, finding.get("message", "")]
    hint = f" Suggestion: {finding['suggestion']}" if finding.get("suggestion") else ""
    return " ".join(word for word in words if word) + hint


def revert_text(revert: dict[str, Any]) -> str:
    """Return a human's revert as the words the implementer reads."""
    what = "parts of it" if revert.get("hunks") else "it"
    to = Snapshot.called(revert["to"])
    return (
        f"A human ({revert['author']}) looked at {revert['path']} and put {what} back to {to}. "
        "That is decided: do not make that change again; read the file before you edit it."
    )
