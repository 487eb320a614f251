"""Words that several pages and messages say in the same way."""

from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone


def who(user: User | None) -> str:
    return user.get_username() if user else "Somebody whose account is gone"


def utc(at: datetime) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S} UTC"
