"""`demo`: launch the scripted team on the sample repository; a running server works on it."""

from typing import Any

from django.core.management.base import BaseCommand

from agents import demo
from agents.management.people import administrator


class Command(BaseCommand):
    help = "Launches the demo: a scripted team finds and fixes a bug in a sample repository."

    def handle(self, *args: Any, **options: Any) -> None:
        run = demo.start(administrator())
        self.stdout.write(f"Run {run.pk} is queued; look at /runs/{run.pk}/ of the running server.")
