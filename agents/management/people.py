"""Finding the user that a command names."""

from django.contrib.auth.models import Group, User
from django.core.management.base import CommandError

from agents.models import Role

NAMES_SHOWN = 20


def find_user(name: str) -> User:
    """Return the active user of that name. Raises CommandError, which lists the names there are."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        names = (
            User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)[:NAMES_SHOWN]
        )
        raise CommandError(
            f"There is no active user {name}. There are: {', '.join(names) or 'none; start the server once'}."
        )
    return user


def administrator() -> User:
    """Return the first active administrator, made without a password if there is none yet."""
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user is not None:
        return user
    user = User.objects.create_superuser(_free_name("admin"))
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in Role])
    return user


def _free_name(name: str) -> str:
    taken = set(User.objects.filter(username__startswith=name).values_list("username", flat=True)[:1000])
    return next(each for each in [name, *(f"{name}{number}" for number in range(2, 1002))] if each not in taken)
