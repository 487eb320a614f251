"""What a request asks: by whom, and the whole numbers in it."""

import re
from typing import cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest


def user(request: HttpRequest) -> User:
    """Return who asks; every view that needs a login has one."""
    return cast(User, request.user)


def whole_number(text: str, digits: int = 18) -> int | None:
    """Return the number that the text is, in plain digits and no more of them than given; None for anything else."""
    return int(text) if re.fullmatch("[0-9]+", text) and len(text) <= digits else None


def snapshot(request: HttpRequest, name: str, default: int, latest: int) -> int:
    """Return the number of a snapshot that the query names. Raises Http404 for one that there is not."""
    number = snapshot_number(request.GET.get(name) or str(default))
    if number > latest:
        raise Http404(f"There is no snapshot {number}; the latest is {latest}.")
    return number


def snapshot_number(text: str) -> int:
    """Return the number of a snapshot, which may or may not be there. Raises Http404 for what is no number."""
    number = whole_number(text, digits=9)
    if number is None:
        raise Http404(f"“{text[:40]}” is no number of a snapshot.")
    return number
