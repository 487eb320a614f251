"""The application of tasks, runs, agents and their live pages."""

from dataclasses import fields

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class AgentsConfig(AppConfig):
    name = "agents"

    def ready(self) -> None:
        """Refuse to start with a cap of results that there is none of."""
        from agents.tools import base  # noqa: PLC0415 -- it imports models, which are not there before

        known = {field.name for field in fields(base.Limits)}
        if unknown := sorted(set(settings.SAKURA_LIMITS) - known):
            raise ImproperlyConfigured(
                f"SAKURA_LIMIT_{unknown[0].upper()} is no cap; there are {', '.join(sorted(known))} (in capitals)."
            )
