"""What lets somebody in and comes to its end: sessions, tokens and login links that are taken away, or have run out."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from agents.models import ApiToken, IdempotencyKey, LoginLink

AT_ONCE = 5000
"""Rows of one kind that are deleted at once; the rest goes the next time."""
TOKEN_SHOWN = timedelta(days=30)
"""How long an expired token is still listed, so that its user sees what became of it."""
KEY_KEPT = timedelta(days=1)


def shut_out(user: User) -> None:
    """End the user's sessions, tokens and login links for good: who is let in again later begins anew."""
    mine = str(user.pk)
    live = Session.objects.filter(expire_date__gt=timezone.now())
    keys = [row.pk for row in live.iterator() if row.get_decoded().get(SESSION_KEY) == mine]
    Session.objects.filter(pk__in=keys).delete()
    ApiToken.objects.filter(user=user).delete()
    LoginLink.objects.filter(user=user).delete()


def forget() -> None:
    """Delete what has run out: sessions, login links, tokens, answers kept for Idempotency-Keys. Eight queries."""
    now = timezone.now()
    _delete(Session.objects.filter(expire_date__lt=now))
    _delete(LoginLink.objects.filter(expires_at__lt=now))
    _delete(ApiToken.objects.filter(expires_at__lt=now - TOKEN_SHOWN))
    _delete(IdempotencyKey.objects.filter(created_at__lt=now - KEY_KEPT))


def _delete(rows: "QuerySet[Any]") -> None:
    rows.model._default_manager.filter(pk__in=list(rows.values_list("pk", flat=True)[:AT_ONCE])).delete()
