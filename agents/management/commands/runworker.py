"""`runworker agents`: a worker in a process of its own, beside any number of web processes."""

import asyncio
import signal
from typing import Any

from channels.management.commands import runworker
from django.conf import settings
from django.core.management import CommandError

from agents import worker
from agents.providers.models import all_models


class ProcessWorker(worker.AgentWorker):
    """The worker as the whole of its process: SIGTERM and SIGINT drain it."""

    async def handle(self) -> None:
        loop = asyncio.get_running_loop()
        listening = asyncio.ensure_future(super().handle())
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        await asyncio.wait([listening, asyncio.ensure_future(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
        await worker.stop()
        listening.cancel()


class Command(runworker.Command):  # type: ignore[misc] # channels has no types
    help = "Claims runs and works on them. Needs PostgreSQL (DATABASE_URL) and Redis (REDIS_URL)."
    worker_class = ProcessWorker

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.SCALED:
            raise CommandError(
                "runworker needs REDIS_URL: other processes can't hear an in-memory layer. "
                "To run all in one process use: manage.py serve"
            )
        if settings.SQLITE:
            raise CommandError(
                "runworker needs PostgreSQL: set DATABASE_URL, or run all in one process by manage.py serve."
            )
        all_models()  # a fault in SAKURA_MODELS is loud now, and not at the first launch
        super().handle(*args, **options)
