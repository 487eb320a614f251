"""Make a one-time login link for a user; it is printed last."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.urls import reverse

from agents.management.people import administrator, find_user
from agents.models import LoginLink


class Command(BaseCommand):
    help = "Print (last line) a link that logs the user in once, within 30 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "user", nargs="?", help="The name of the user; left out: the administrator, made if there is none yet."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"]) if options["user"] else administrator()
        self.stderr.write(f"Logs {user.username} in once, within 30 minutes:")
        self.stdout.write(f"{_site()}{reverse('login_link', args=[LoginLink.make(user)])}")


def _site() -> str:
    """Return where the site is: SAKURA_BASE_URL, or this machine's address of it."""
    host = "127.0.0.1" if settings.SAKURA_HOST in ("0.0.0.0", "::") else settings.SAKURA_HOST  # noqa: S104 -- compared
    return settings.SAKURA_BASE_URL or f"http://{f'[{host}]' if ':' in host else host}:{settings.SAKURA_PORT}"
