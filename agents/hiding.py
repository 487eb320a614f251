"""Secrets between a run and its model: what comes in and goes out is masked, and both are told of what was seen."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agents import masks, outputs
from agents.providers.base import Call, ProviderError, Response
from agents.secrets import TaskSecrets
from agents.session import Session
from agents.tools.base import Result
from workspaces import disclosed, store
from workspaces.masking import Mask
from workspaces.sandbox import Outcome

COMMANDS = frozenset({"run_command", "command_output"})
IN_FILES = (
    "A secret lies in files of the workspace now: {files}. A run that holds one can't be approved: take it out, or "
    "revert the file, and let programs read the variable instead."
)


def in_response(mask: Mask, response: Response) -> tuple[Response, int]:
    """Return a model's response without secrets, and how many were taken out; its calls are carried out like that.

    A provider's own blocks are signed, so they are left out where one was in them.
    """
    if not mask:
        return response, 0
    text, count = mask.text(response.text)
    calls, in_calls = mask.value([[call.call_id, call.name, call.input] for call in response.calls])
    in_blocks = mask.value(response.blocks)[1]
    if not count + in_calls + in_blocks:
        return response, 0
    made = tuple(Call(*call) for call in calls)
    return replace(response, text=text, calls=made, blocks=None), count + in_calls or in_blocks


def in_result(mask: Mask, result: Result) -> Result:
    """Return a result as its model may see it."""
    return replace(result, content=mask.text(result.content)[0])


def in_error(mask: Mask, error: ProviderError) -> ProviderError:
    """Return what went wrong with a provider, in words without secrets."""
    sentence, count = mask.text(error.sentence)
    if not count:
        return error
    return ProviderError(error.trouble, sentence, retryable=error.retryable, retry_after_s=error.retry_after_s)


def in_output(session: Session, call: Call, result: Result) -> None:
    """Mask the whole output that a tool stored; what commands print is masked before it is stored."""
    if result.output_ref and call.name not in COMMANDS:
        outputs.hide(session.place, result.output_ref, masks.of_run(session.run.pk))


def told(secrets: TaskSecrets, call: Call, result: Result) -> Result:
    """Return the result of a call; one of a command says which secrets it names and did not get."""
    command = call.input.get("command") if call.name == "run_command" and isinstance(call.input, dict) else None
    if not secrets.uses or not isinstance(command, str):
        return result
    given = [name for name, _ in secrets.for_command(command)]
    return replace(result, content=result.content + secrets.hint(command, given))


def counted(applied: Any, ended: Iterable[Outcome | None] = ()) -> int:
    """Return how many secrets were masked in what commands printed: in a result's, and in those that ran on."""
    all_applied = [applied or {}, *(outcome.applied for outcome in ended if outcome)]
    return sum(int(each.get("masked", 0)) for each in all_applied)


def in_files(session: Session, since: int) -> str:
    """Return a word on files that came to hold a secret after a snapshot, "" if there is none."""
    mask, workspace = masks.of_run(session.run.pk), session.place
    if not mask:
        return ""
    before, now = store.at(workspace, since), store.at(workspace, None)
    found = disclosed.find(store.ensure(workspace.repository), before.tree, now.tree, mask)
    return IN_FILES.format(files=found.named()) if found.files else ""
