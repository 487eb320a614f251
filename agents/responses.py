"""What a model's response is in the transcript: the data of its event, and calls whose ids are the run's own."""

from typing import Any

from agents.models import ToolCall
from agents.providers.base import Call, Response
from agents.providers.models import ModelInfo
from agents.session import Session


def data(model: ModelInfo, response: Response, calls: tuple[Call, ...], blocks: Any) -> dict[str, Any]:
    """Return a response as the data of its event; `blocks` are the provider's own, to be replayed."""
    usage = response.usage
    return {
        "text": response.text,
        "tool_calls": [{"call_id": call.call_id, "name": call.name, "input": call.input} for call in calls],
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
        },
        "stop_reason": response.raw_stop or response.stop,
        "model": response.model or model.id,
        "provider": model.provider,
        "blocks": blocks,
    }


def unique(session: Session, calls: tuple[Call, ...]) -> tuple[tuple[Call, ...], bool]:
    """Return the calls with ids that are new to the run (some servers count from 0 in every response)."""
    wanted = [call.call_id for call in calls]
    taken = set(ToolCall.objects.filter(run=session.run, call_id__in=wanted).values_list("call_id", flat=True))
    made: list[Call] = []
    for index, call in enumerate(calls):
        fresh = call.call_id and len(call.call_id) <= 150 and call.call_id not in taken
        call_id = call.call_id if fresh else f"{call.call_id[:100]}-{session.run.step + 1}-{index}"
        taken.add(call_id)
        made.append(Call(call_id, call.name, call.input))
    return tuple(made), [call.call_id for call in made] != wanted
