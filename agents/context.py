"""What the frame of every page knows: who looks, what they may do, where they are, whether the sandbox is off."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from agents.models import Role, has_role, roles_of

WORKSPACE = ("workspace_files", "workspace_file", "workspace_reads", "workspace_baselines", "workspace_sakura")
SECTIONS = {
    "board": ("Board", frozenset({"board", "task_new", "task", "run", "review", "revert", "comment", *WORKSPACE})),
    "repositories": ("Repositories", frozenset({"repositories", "repository", "repository_add", "repository_policy"})),
    "settings": ("Settings", frozenset({"settings", "token_make", "user_save", "skills"})),
}


@dataclass(frozen=True)
class Can:
    """What the person may do, as the templates ask it."""

    watch: bool = False
    operate: bool = False
    review: bool = False
    administer: bool = False
    roles: str = ""


@dataclass(frozen=True)
class Item:
    """One entry of the main navigation; `here` is a value of aria-current, empty elsewhere."""

    label: str
    url: str
    here: str


def chrome(request: HttpRequest) -> dict[str, Any]:
    """Return the values that templates/base.html needs. One query for somebody who is logged in."""
    return {
        "can": _can(request),
        "navigation": _navigation(request),
        "sandbox_is_off": sandbox_is_off(),
    }


def sandbox_is_off() -> bool:
    """Return whether every page has to say so, those of errors too."""
    return bool(settings.SAKURA_SANDBOX == "off")


def _is_logged_in(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)  # absent when a middleware before ours answered
    return user is not None and user.is_authenticated


def _can(request: HttpRequest) -> Can:
    if not _is_logged_in(request):
        return Can()
    user = request.user
    return Can(
        watch=has_role(user, Role.VIEWER),
        operate=has_role(user, Role.OPERATOR),
        review=has_role(user, Role.REVIEWER),
        administer=has_role(user, Role.ADMIN),
        roles=", ".join(role.value for role in Role if role in roles_of(user)),
    )


def _navigation(request: HttpRequest) -> list[Item]:
    match = request.resolver_match
    name = match.url_name if match else ""
    return [
        Item(label, reverse(section), "page" if name == section else "true" if name in names else "")
        for section, (label, names) in SECTIONS.items()
    ]
