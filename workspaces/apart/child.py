"""The process that parses: takes its limits before it looks at the first byte, and answers in JSON."""

import importlib
import json
import resource
import sys
from types import TracebackType


def main(module: str, limits: str, args: str) -> None:
    """Parse standard input with `workspaces.apart.<module>` and print what comes of it."""
    sys.excepthook = _tell
    parser = importlib.import_module(f"workspaces.apart.{module}")
    memory_bytes, cpu_seconds, answer_bytes = map(int, limits.split(","))
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CPU, cpu_seconds)
    _limit(resource.RLIMIT_FSIZE, answer_bytes)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_CORE, 0)
    print(json.dumps(parser.parse(sys.stdin.buffer, json.loads(args))))


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in the answer what no parser expected; the process ends with 1 all the same."""
    words = "it takes too much memory" if kind is MemoryError else f"it is broken ({kind.__name__})"
    print(json.dumps({"fault": words}))
