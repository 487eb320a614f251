"""Words that several pages and messages say in the same way."""

from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone

WHOSE = {
    "task": "the task",
    "repository": "the repository’s policy",
    "defaults": "the defaults",
    "installation": "this installation",
    "skill": "a skill that it loaded",
}
"""Whose a rule is, by the source of a decision (agents/rules.py)."""


def who(user: User | None) -> str:
    return user.get_username() if user else "Somebody whose account is gone"


def author(user: User) -> tuple[str, str]:
    """Return whose commits a person's are: a name and an address."""
    return user.get_full_name() or user.get_username(), user.email or f"{user.get_username()}@sakura.invalid"


def utc(at: datetime) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S} UTC"
