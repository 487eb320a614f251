"""How often a password may be guessed: django-axes, made to count an attempt before its password is looked at."""

import logging
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Max
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

log = logging.getLogger(__name__)

ROWS = 10_000
"""Pairs of account and address that are kept at most; each row costs its maker one slow password check."""
UNKNOWN = "::"
"""Stands for the address of a client that has none, such as one on a UNIX socket."""


class CountsFirst(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Axes counts a failure once the password was wrong, so that forty at once would all be looked at.

    Here each attempt is counted when it comes; a right password takes the count back (AXES_RESET_ON_SUCCESS).
    """

    def is_allowed(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Count the attempt, and return whether its password may be looked at."""
        name = {"username": (credentials or {}).get("username")}
        if not super().is_allowed(request, name):
            return False
        super().user_login_failed(type(self), name, request)
        _bound_rows()
        if request.axes_locked_out:
            log.warning(
                "Logging in to one account from %s is locked for %s.", address(request), settings.AXES_COOLOFF_TIME
            )
        return bool(request.axes_failures_since_start <= get_failure_limit(request, name))

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **more: Any) -> None:
        """Do nothing: the attempt was counted when it came."""

    def user_logged_in(self, sender: Any, request: Any, user: User, **more: Any) -> None:
        """Forget the attempts of who got in; the last one that was allowed is not told that it was the last."""
        super().user_logged_in(sender, request, user, **more)
        request.axes_locked_out = False


def _bound_rows() -> None:
    """Delete the oldest rows beyond ROWS. Two queries at most."""
    beyond = AccessAttempt.objects.order_by("-pk").values_list("pk", flat=True)[ROWS : ROWS + 1].first()
    if beyond is not None:
        AccessAttempt.objects.filter(pk__lte=beyond).delete()


def opens_again(request: HttpRequest) -> datetime | None:
    """Return when the account that the request names may be tried from its address again; None: now."""
    rows = AccessAttempt.objects.filter(username=account(request, None), ip_address=address(request))
    last: datetime | None = rows.aggregate(last=Max("attempt_time"))["last"]
    return None if last is None else last + settings.AXES_COOLOFF_TIME


def account(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return what stands for the tried name: a keyed digest, as people type passwords into the wrong field."""
    name = (credentials or {}).get("username") or request.POST.get("username", "")
    return salted_hmac("agents.throttle", str(name).casefold()).hexdigest()


def address(request: HttpRequest) -> str:
    """Return the address that an attempt counts for: of IPv6 the /64, which one client has whole.

    Only behind the proxy of an https installation does X-Forwarded-For count, and of it the last entry alone, which is
    the proxy's own word; what a client wrote stands before it.
    """
    given = request.META.get("REMOTE_ADDR") or ""
    if settings.HTTPS and (forwarded := request.headers.get("X-Forwarded-For")):
        given = forwarded.rpartition(",")[2].strip()
    try:
        found: IPv4Address | IPv6Address = ip_address(given)
    except ValueError:
        return UNKNOWN
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False).network_address)
    return str(found)
