"""The table of attacks."""

from tests.wall import attacks_outside as outside

ATTACKS = (*outside.FILES, *outside.APPLICATION, *outside.RUNS, *outside.PROCESSES)
