"""`manage.py toolshell --workspace DIR`: the tools on any folder, asked and answered in lines of JSON."""

import signal
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from pydantic import ValidationError

from agents.models import Agent, Policy
from agents.toolshell import loan, scratch
from agents.toolshell.folder import FolderError
from agents.toolshell.lines import LINE_BYTES, BadLine, Channel, read_object
from agents.toolshell.session import Session, opened
from workspaces.store import StoreError

DEFAULT_POLICY = Policy(unprotected=[".github/**"], may_change_tests=True)
"""Nobody merges what is written here, so nothing runs by itself, and nobody takes passing tests for a proof."""
POLICY_BYTES = 1_000_000


class Command(BaseCommand):
    help = "Call the tools on a folder: one JSON object a line in, one a line out. See agents/toolshell/README.md."
    requires_system_checks: list[str] = []  # it has a database of its own, and starts often

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="DIR", help="the folder that the tools work in")
        parser.add_argument("--role", choices=Agent.values, default=Agent.IMPLEMENTER, help="whose tools there are")
        parser.add_argument("--policy", metavar="FILE", help="a task's policy, as JSON")
        parser.add_argument("--decide-only", action="store_true", help="ask the policy only, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        tree = Path(options["workspace"]).resolve()
        if not tree.is_dir():
            raise CommandError(f"{options['workspace']}: there is no such folder.")
        rules = _policy(options["policy"])
        channel = Channel()
        folder = scratch.make_folder()
        try:
            owed = loan.plan(tree, folder)
        except loan.LoanError as error:
            folder.rmdir()
            raise CommandError(str(error)) from None
        with loan.lent(owed, folder):
            scratch.move_in(folder)
            try:
                agent = Agent(options["role"])
                _serve(channel, opened(tree, owed, rules, agent, decide_only=options["decide_only"]))
            except (FolderError, StoreError) as error:
                raise CommandError(str(error)) from None
            finally:
                connections.close_all()


def _policy(name: str | None) -> Policy:
    if name is None:
        return DEFAULT_POLICY
    try:
        with open(name, "rb") as file:
            return Policy.model_validate_json(file.read(POLICY_BYTES))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}.") from None
    except ValidationError as error:
        raise CommandError(f"{name} is no policy: {error}") from None


def _serve(channel: Channel, session: Session) -> None:
    """Answer until the input ends, or a signal asks for the end; a running command is then ended too."""

    def stop(number: int, frame: object) -> None:
        session.cancelled.set()

    signal.set_wakeup_fd(channel.waker)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, stop)
    try:
        channel.send(session.ready())
        for line in channel.lines():
            channel.send(_answer(session, line))
    except BrokenPipeError:
        return  # whoever asked is gone
    finally:
        session.end()


def _answer(session: Session, line: bytes | None) -> dict[str, Any]:
    try:
        if line is None:
            raise BadLine(f"the line has more than {LINE_BYTES:,} bytes")
        return session.answer(read_object(line))
    except BadLine as error:
        return {"type": "error", "code": "INVALID_INPUT", "message": str(error)}
