"""The last net before the browser: whatever an answer holds, no secret of a repository leaves in it."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents import masks
from workspaces.masking import Mask

HEADER = "X-Sakura-Masked"
"""How many secrets were masked in an answer; not there for none, nor for one that streams."""
WITHOUT = frozenset({"healthz", "readyz", "metrics"})
"""What is asked all the time, and shows nothing that an agent or a person wrote."""

Respond = Callable[[HttpRequest], HttpResponseBase]


def mask_answers(respond: Respond) -> Respond:
    """Mask every body, in each spelling that Mask knows. One query; nothing is searched where there are no secrets."""

    def masked(request: HttpRequest) -> HttpResponseBase:
        if request.path.strip("/") in WITHOUT:
            return respond(request)
        mask = _present()  # before: what is cut on the way is cut beside the secrets that are open (workspaces/cuts.py)
        answer = respond(request)
        return _masked(answer, mask) if mask else answer

    return masked


def _present() -> Mask:
    try:
        return masks.of_all()
    except DatabaseError:
        return masks.last_of_all()


def _masked(answer: HttpResponseBase, mask: Mask) -> HttpResponseBase:
    if isinstance(answer, StreamingHttpResponse):
        pieces = answer.streaming_content
        answer.streaming_content = (
            _masked_later(cast(AsyncIterator[bytes], pieces), mask)
            if answer.is_async
            else _masked_pieces(cast(Iterator[bytes], pieces), mask)
        )
        del answer["Content-Length"]
    elif isinstance(answer, HttpResponse):
        body, count = mask.data(answer.content)
        if count:
            answer.content = body
            answer[HEADER] = str(count)
            if "Content-Length" in answer:
                answer["Content-Length"] = str(len(body))
    return answer


def _masked_pieces(pieces: Iterator[bytes], mask: Mask) -> Iterator[bytes]:
    stream = mask.stream()
    for piece in pieces:
        yield stream.feed(piece)
    yield stream.end()


async def _masked_later(pieces: AsyncIterator[bytes], mask: Mask) -> AsyncIterator[bytes]:
    stream = mask.stream()
    async for piece in pieces:
        yield stream.feed(piece)
    yield stream.end()
