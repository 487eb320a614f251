"""`serve`: one process with pages, sockets, the worker and the run threads. This is what `make run` starts."""

import asyncio
import signal
import socket
from pathlib import Path
from typing import Any

from daphne.server import Server  # isort: skip -- first: it installs the asyncio reactor
from channels.layers import get_channel_layer
from channels.routing import get_default_application
from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import DatabaseError
from twisted.internet import reactor

from agents import consumers, full_disk, worker
from agents.management.people import administrator
from agents.models import LoginLink
from agents.providers.models import all_models
from workspaces import sandbox

MESSAGE_BYTES = 16 * 1024 * 1024
"""Of one message that the server sends, a batch of events as HTML; of what comes, socket_messages.py keeps 16 KB."""


class Command(BaseCommand):
    help = "Starts Sakura in one process: pages, live sockets and the worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.SAKURA_HOST)
        parser.add_argument("--port", type=int, default=settings.SAKURA_PORT, help="0 takes a free one")

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        if settings.SCALED:
            raise CommandError(
                "serve is the one-process mode, and REDIS_URL is set. Unset it, "
                "or start `daphne sakura_web.asgi:application` and `manage.py runworker agents`."
            )
        all_models()  # a fault in SAKURA_MODELS is loud now, and not at the first launch
        listening = _listen(host, port)
        _make_ready()
        if settings.PRODUCTION:
            call_command("collectstatic", verbosity=0, interactive=False)
        try:
            call_command("migrate", verbosity=0, interactive=False)
            self._greet(host, listening.getsockname()[1])
        except (DatabaseError, OSError) as error:
            if full_disk.says(error):
                raise CommandError("The disk is full; make room, then start Sakura again.") from None
            raise
        _serve(listening)

    def _greet(self, host: str, port: int) -> None:
        """Print where Sakura is, a one-time login link, and what a newcomer must know."""
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 -- compared, not bound
        base = settings.SAKURA_BASE_URL or f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
        user = administrator()
        report = sandbox.probe()
        lines = [
            f"Sakura is at {base}/",
            f"Log in as {user.get_username()}, once, within 30 minutes:",
            f"    {base}/login/{LoginLink.make(user)}/",
        ]
        if report.level != "full":
            lines += [f"Sandbox: {report.level}. {' '.join(report.reasons)}", f"    {report.cure}"]
        lines.append("Stop it by Ctrl+C; what runs goes on at the next start.")
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def _make_ready() -> None:
    """Make what must be there before the first request. Raises CommandError where the data folder can't be written."""
    try:
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        _keep_private(Path(settings.DATABASES["default"]["NAME"]))
    except OSError as error:
        raise CommandError(
            f"SAKURA_DATA_DIR={settings.SAKURA_DATA_DIR} can't be written: {error.strerror}, at {error.filename}. "
            "Name a folder that this user may write, for example SAKURA_DATA_DIR=/var/lib/sakura."
        ) from error


def _keep_private(database: Path) -> None:
    """Let only this user read the SQLite file; its journals take over its mode."""
    if settings.SQLITE:
        database.touch(mode=0o600)
        database.chmod(0o600)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises CommandError with the cure when the address can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(512)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise CommandError(
            f"Port {port} on {host} can't be used: {why}. "
            f"If another program (or another Sakura) has it, take a free one: "
            f"SAKURA_PORT={port + 1 if port < 65535 else 8000} make run"
        ) from error
    listening.setblocking(False)
    return listening


def _serve(listening: socket.socket) -> None:
    """Run the server until SIGTERM or SIGINT, then drain: sockets closed, steps finished, leases given back."""
    application = get_default_application()

    def ready() -> None:
        loop = asyncio.get_event_loop()
        hosted = worker.AgentWorker(application, ["agents"], get_channel_layer())
        tasks = [loop.create_task(hosted.handle())]
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: tasks.append(loop.create_task(_stop())))

    Server(
        application=application,
        endpoints=[_endpoint(listening)],
        signal_handlers=False,
        ready_callable=ready,
        websocket_timeout=-1,
        websocket_max_message_size=MESSAGE_BYTES,
        websocket_max_frame_size=64 * 1024,
        verbosity=1,
    ).run()


def _endpoint(listening: socket.socket) -> str:
    """Return Twisted's description of the socket; it adopts an IPv4 one, and binds an IPv6 one anew."""
    if listening.family == socket.AF_INET:
        return f"fd:fileno={listening.fileno()}"
    host, port = listening.getsockname()[:2]
    listening.close()
    return f"tcp6:port={port}:interface={host.replace(':', chr(92) + ':')}"


async def _stop() -> None:
    await consumers.close_all()
    await worker.stop()
    reactor.stop()  # type: ignore[misc] # the installed reactor, not the module
