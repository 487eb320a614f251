"""Secrets masked between a run and its model: responses, results, errors; and a word on those that lie in files."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.db.models import F

from agents import masks, outputs
from agents.narrowing import COMMAND_TOOLS
from agents.providers.base import Call, ProviderError, Response
from agents.session import Session
from agents.tools.base import Result
from workspaces import disclosed, store
from workspaces.background import Job
from workspaces.masking import Mask

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
    return replace(response, text=text, calls=made, blocks=None), (count + in_calls) or in_blocks


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
    """Mask the whole output that a tool stored; that of commands was masked while it was printed."""
    if result.output_ref and call.name not in COMMAND_TOOLS:
        outputs.mask_stored(session.place, result.output_ref, masks.of_run(session.run.pk))


def counted(applied: dict[str, Any], ended: Iterable[Job]) -> dict[str, Any]:
    """Return what changes in a run's row for secrets that commands printed: a result's, and those that ran on."""
    walls = [applied, *(job.outcome.applied for job in ended if job.outcome and not job.was_noted)]
    masked = sum(int(wall.get("masked", 0)) for wall in walls)
    return {"masked": F("masked") + masked} if masked else {}


def in_files(session: Session, since: int) -> str:
    """Return a word on files that came to hold a secret after a snapshot, "" if there is none."""
    mask, workspace = masks.of_run(session.run.pk), session.place
    if not mask:
        return ""
    before, now = store.at(workspace, since), store.at(workspace, None)
    found = disclosed.find(store.ensure(workspace.repository), before.tree, now.tree, mask)
    return IN_FILES.format(files=found.named()) if found.files else ""
