"""Stands in for the module that reads sources: ends its process at some words, as a fault in a parser would."""

import importlib.util
import os
import signal
import time
from pathlib import Path
from typing import Any, BinaryIO

REAL = Path(__file__).resolve().parents[4] / "workspaces" / "apart" / "testsource.py"
_modules: list[Any] = []


def load() -> None:
    spec = importlib.util.spec_from_file_location("real", REAL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load()
    _modules.append(module)


def parse(file: BinaryIO, args: dict[str, Any]) -> Any:
    data = file.read()
    if b"CRASH" in data:
        signal.raise_signal(signal.SIGSEGV)
        os.abort()
    if b"SLEEP" in data:
        time.sleep(60)
    if b"RUBBISH" in data:
        return {"files": [{"units": 7} for _ in args["files"]]}
    if b"SHORT" in data:
        return {"files": []}
    file.seek(0)
    return _modules[0].parse(file, args)
