"""Idempotency-Key: a POST sent twice with the same key is carried out once, and answered the same."""

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone
from pydantic import BaseModel

from agents.api.auth import caller
from agents.control import Refused
from agents.expiry import KEY_KEPT
from agents.models import IdempotencyKey

KEY_LENGTH = 200


def once(operation: Callable[..., BaseModel]) -> Callable[..., Any]:
    """Keep the answer of a POST that names a key, and give it again to the same request.

    Refusals and bugs keep nothing: whoever repeats them gets a new try.
    """

    @wraps(operation)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        key = request.headers.get("Idempotency-Key", "")
        if request.method != "POST" or not key:
            return operation(request, *args, **kwargs)
        row, is_new = _take(request, key)
        if not is_new:
            return _repeat(row, request)
        return _carry_out(row, lambda: operation(request, *args, **kwargs))

    return answered


def _take(request: HttpRequest, key: str) -> tuple[IdempotencyKey, bool]:
    if len(key) > KEY_LENGTH:
        raise Refused("INVALID_INPUT", f"Idempotency-Key may have {KEY_LENGTH} characters at most.", 422)
    mine = IdempotencyKey.objects.filter(user=caller(request))
    mine.filter(created_at__lt=timezone.now() - KEY_KEPT).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(user=caller(request), key=key, request=_digest(request)), True
    except IntegrityError:
        row = mine.filter(key=key).first()
    if row is None:
        raise Refused("IN_PROGRESS", "The first request with this Idempotency-Key has just failed; send it again.")
    return row, False


def _digest(request: HttpRequest) -> str:
    head = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(head + request.body).hexdigest()


def _repeat(row: IdempotencyKey, request: HttpRequest) -> Any:
    if row.request != _digest(request):
        raise Refused("KEY_REUSED", "This Idempotency-Key was used for another request; take a new one.")
    if row.status is None:
        raise Refused("IN_PROGRESS", "The first request with this Idempotency-Key is still at work; ask again later.")
    return row.body


def _carry_out(row: IdempotencyKey, operation: Callable[[], BaseModel]) -> BaseModel:
    is_done = False
    try:
        answer = operation()
        IdempotencyKey.objects.filter(pk=row.pk).update(status=200, body=answer.model_dump(mode="json", by_alias=True))
        is_done = True
    finally:
        if not is_done:
            row.delete()
    return answer
