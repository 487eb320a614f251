"""Reads what tests in sources say; runs in a process of its own."""

import gc
import importlib
import importlib.machinery
import importlib.util
import time
from typing import Any, BinaryIO

GRAMMARS = {
    "python": ("tree_sitter_python", "language", "python"),
    "javascript": ("tree_sitter_javascript", "language", "javascript"),
    "typescript": ("tree_sitter_typescript", "language_typescript", "javascript"),
    "tsx": ("tree_sitter_typescript", "language_tsx", "javascript"),
    "go": ("tree_sitter_go", "language", "go"),
    "rust": ("tree_sitter_rust", "language", "rust"),
    "java": ("tree_sitter_java", "language", "java"),
    "ruby": ("tree_sitter_ruby", "language", "ruby"),
}
"""By language: the package of its grammar, the function in it, and our module on it."""
_READY: dict[str, tuple[Any, Any, Any]] = {}
_MODULES: dict[str, Any] = {}


def load() -> None:
    """Load all grammars, and make their parsers."""
    gc.disable()  # what is read is gone with the process; looking for cycles takes a fifth of its time
    tree_sitter = importlib.import_module("tree_sitter")
    for name in ("nodes", "units"):
        _MODULES[name] = importlib.import_module(f"tongues.{name}")
    for language, (package, function, module) in GRAMMARS.items():
        grammar = tree_sitter.Language(getattr(_binding(package), function)())
        tongue = importlib.import_module(f"tongues.{module}").TONGUE
        _READY[language] = (tree_sitter.Parser(grammar), grammar, tongue)


def _binding(package: str) -> Any:
    """Return the compiled part of a grammar's package; what is beside it takes longer to import than all else."""
    about = importlib.util.find_spec(package)
    compiled = importlib.machinery.PathFinder.find_spec("_binding", about.submodule_search_locations if about else None)
    if compiled is None or compiled.loader is None:
        raise ModuleNotFoundError(f"There is no compiled grammar in {package}.")
    module = importlib.util.module_from_spec(compiled)
    compiled.loader.exec_module(module)
    return module


def parse(file: BinaryIO, args: dict[str, Any]) -> dict[str, Any]:
    """Return what each of several sources says: as `units.Reader` tells it, or {"fault": why it can't be read}.

    The file is the sources one after the other; `args`: files ([[language, bytes], …]), seconds (of processor time,
    after which it begins with no other: what is left is None).
    """
    told: list[dict[str, Any] | None] = []
    for language, size in args["files"]:
        is_late = bool(told) and time.process_time() > args["seconds"]
        told.append(None if is_late else _one(language, file.read(size)))
    return {"files": told}


def _one(language: str, data: bytes) -> dict[str, Any]:
    parser, grammar, tongue = _READY[language]
    too_much = _MODULES["nodes"].TooMuch
    try:
        nodes = _MODULES["nodes"].Nodes(_MODULES["nodes"].parsed(parser, data), grammar, data)
        told: dict[str, Any] = _MODULES["units"].Reader(tongue, nodes).read()
    except too_much as error:
        return {"fault": str(error)}
    return told
