"""`manage.py sandbox`: whether commands can be confined here, and with --explain why, or why not, and what to do."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workspaces.sandbox import Report, bounds, probe


class Command(BaseCommand):
    help = "Tell whether commands of agents can be confined on this machine."
    requires_system_checks: list[str] = []  # it must explain itself even where the rest is misconfigured

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--explain", action="store_true", help="also print every check, the reasons and the cure")

    def handle(self, *args: Any, explain: bool = False, **options: Any) -> None:
        report = probe(fresh=True)
        self.stdout.write(f"Sandbox: {report.level}")
        for line in _lines(report) if explain else []:
            self.stdout.write(line)
        if report.level == "none":
            raise SystemExit(1)


def _lines(report: Report) -> list[str]:
    lines = [f"  bubblewrap: {report.bwrap or ('not used' if report.level == 'off' else 'none that works')}"]
    lines.append(f"  commands run as: {f'uid {report.uid}' if report.uid is not None else 'the user of the server'}")
    lines += [f"  {'pass' if passed else 'FAIL'}  {check}" for check, passed in report.checks.items()]
    lines += ["", "Limits of one command:", *(f"  {name}: {value}" for name, value in bounds(report))]
    lines += ["", "Reasons:", *(f"  {reason}" for reason in report.reasons)] if report.reasons else []
    lines += ["", "What to do:", *(f"  {line}" for line in report.cure.splitlines())] if report.cure else []
    return lines
