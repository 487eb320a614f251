"""The table of attacks as docs/security.md shows it; `python -m tests.wall.table` writes it there."""

import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.wall.attack import Attack

SECURITY = Path(__file__).parent.parent.parent / "docs" / "security.md"
BEGIN, END = "<!-- attacks: written by `python -m tests.wall.table` -->", "<!-- end of attacks -->"


def table(attacks: "tuple[Attack, ...]") -> str:
    """Return each attack with what stops it and its control, by what they are after."""
    parts = [f"{len(attacks)} attacks:"]
    for group, members in groupby(attacks, key=lambda attack: attack.group):
        rows = [f"| {attack.name} | {attack.stopped_by} | {attack.control.words} |" for attack in members]
        parts += [
            f"### {group} ({len(rows)})",
            "\n".join(["| attack | stopped by | control |", "|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts)


def written(text: str, attacks: "tuple[Attack, ...]") -> str:
    """Return the document with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(attacks)}\n\n{END}{after}"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sakura_web.settings")
    django.setup()
    from tests.wall.attacks import ATTACKS

    SECURITY.write_text(written(SECURITY.read_text(), ATTACKS))
