"""How a property is held: the same few examples in each test run, in `make soak` new ones until time is up."""

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SEED = int(os.environ.get("SOAK_SEED", "0"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "45"))
"""For each property; a round that has begun is ended first."""
ROUND = 200
"""Examples after which the clock is looked at."""
SAME = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=not IS_SOAK, print_blob=True
)


def hold(check: Callable[..., None], *strategies: SearchStrategy[Any], few: int = 40) -> None:
    """Call `check` with examples; `few` of them is what a test run takes."""
    if not IS_SOAK:
        settings(SAME, max_examples=few)(given(*strategies)(check))()
        return
    until = time.monotonic() + SECONDS
    for number in itertools.count(SEED):
        settings(SAME, max_examples=max(few, min(ROUND, few * 5)))(seed(number)(given(*strategies)(check)))()
        if time.monotonic() > until:
            return
