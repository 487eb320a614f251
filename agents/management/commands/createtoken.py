"""Make an API token for a user; it is printed last, once."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.management.people import find_user
from agents.models import ApiToken, Role, roles_of


class Command(BaseCommand):
    help = "Make an API token for a user and print it (last line). It is stored hashed, so it can't be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="The name to log in with.")
        parser.add_argument("--name", default="command line", help="What the token is for.")
        parser.add_argument("--roles", nargs="+", choices=Role.values, help="Fewer roles than the user's own.")
        parser.add_argument("--days", type=int, default=90, help="Days until it expires, 1 to 3650.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["days"] <= 3650:
            raise CommandError("--days must lie between 1 and 3650.")
        user = find_user(options["user"])
        roles = _roles(user, options["roles"])
        life = timedelta(days=options["days"])
        _, secret = ApiToken.make(user, options["name"][:100], roles, life)
        self.stderr.write(f"A token of {user.username} for {', '.join(roles)}, for {options['days']} days:")
        self.stdout.write(secret)


def _roles(user: User, wanted: list[str] | None) -> list[Role]:
    held = roles_of(user)
    if not held:
        raise CommandError(
            f"{user.username} has no role, so a token would open nothing. Give a role on the settings page."
        )
    roles = [Role(name) for name in wanted] if wanted else list(held)
    missing = sorted(set(roles) - held)
    if missing:
        raise CommandError(
            f"{user.username} does not have: {', '.join(missing)}. A token gives no more than its user has."
        )
    return sorted(roles)
