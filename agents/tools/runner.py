"""Carries out one call: finds the tool, reads its input, bounds its result. A failure is a result too."""

import errno
import json
import logging
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from agents.tools.base import REGISTRY, Effect, Input, Result, Rules, Tool, ToolContext, ToolError
from workspaces import cuts, names, outputs, paths
from workspaces.files import OS_ERRORS
from workspaces.paths import WorkspaceError

logger = logging.getLogger(__name__)

PATH_ARGUMENTS = ("file_path", "path")
_TAKES_LINKS = frozenset({"revert_file"})
"""Tools that take a link for itself, and not for what it leads to."""
_WHY_CHARS = 500
_NOTE_CHARS = 1000
"""What a tool that bounds itself may add in notes."""


class Call(Protocol):
    """What a model asked for."""

    @property
    def name(self) -> str: ...
    @property
    def input(self) -> Any: ...


@dataclass
class Prepared:
    """A call that can be carried out. `decision`: what the rules said of it, in JSON; empty until they are asked."""

    tool: Tool
    args: Input
    effect: Effect
    root: Path | None
    decision: dict[str, Any] = field(default_factory=dict)

    @property
    def resolved(self) -> dict[str, str]:
        """The path arguments as paths relative to the workspace, as far as they name one; looked up when asked for."""
        return _resolved(self.args, self.root)


def available(agent: str, toolset: str) -> list[Tool]:
    """Return the tools that an agent gets, by name."""
    found = (tool for tool in REGISTRY.values() if agent in tool.agents and toolset in tool.toolsets)
    return sorted(found, key=lambda tool: tool.name)


def usable(tools: Sequence[Tool], rules: Rules) -> list[Tool]:
    """Return the tools that the policy and loaded skills leave: what is denied for every input is not shown."""
    return [tool for tool in tools if _may_use(tool, rules)]


def _may_use(tool: Tool, rules: Rules) -> bool:
    try:
        rules.may_use(tool.name)
    except ToolError:
        return False
    return True


# --- before --------------------------------------------------------------------------------------


def prepare(call: Call, tools: Sequence[Tool], root: Path | None = None) -> Prepared:
    """Find the tool and read its input. Raises ToolError UNKNOWN_TOOL or INVALID_INPUT."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        names = ", ".join(sorted(tool.name for tool in tools))
        raise ToolError("UNKNOWN_TOOL", f"there is no tool {call.name[:100]!r} here. The tools are: {names}.")
    args = _read_input(tool, call.input)
    effect = tool.effect_of(args) if tool.effect_of else tool.effect
    return Prepared(tool, args, effect, root)


def decide(prepared: Prepared, rules: Rules) -> None:
    """Ask the policy about the call, before anything of it is done, and note what it said.

    Raises ToolError, such as BLOCKED_COMMAND or PROTECTED_PATH.
    """
    tool, effect = prepared.tool, prepared.effect
    try:
        rules.may_use(tool.name)
        bound = rules.of_call(tool.name, effect)
        if tool.decide:
            tool.decide(prepared.args, bound)
        paths = _named_paths(prepared)
        for path in paths:
            if effect is Effect.WRITE:
                bound.may_write(path)
            bound.may_read(path)
        found = bound.decision(tool.name, effect, paths=paths, command=str(getattr(prepared.args, "command", "")))
        prepared.decision = _noted(found.allowed, found.rule, found.source, found.why)
        if not found.allowed:
            raise ToolError("DENIED", f"{tool.name}: rule `{found.rule}`: {found.why}", prepared.decision)
    except ToolError as error:
        if "rule" in error.data:
            prepared.decision = _noted(False, error.data["rule"], error.data.get("source", "defaults"), error.message)
        raise


def _noted(allowed: bool, rule: str, source: str, why: str) -> dict[str, Any]:
    return {"allowed": allowed, "rule": rule, "source": source, "why": cuts.head(why, _WHY_CHARS)}


def _named_paths(prepared: Prepared) -> list[str]:
    """Return the paths that the call names, relative to the workspace, as far as they lie in it."""
    found: list[str] = []
    where = paths.resolve_parent if prepared.tool.name in _TAKES_LINKS else paths.resolve
    for given in (getattr(prepared.args, name, None) for name in PATH_ARGUMENTS):
        if prepared.root is not None and isinstance(given, str):
            with suppress(WorkspaceError):  # the call itself will say what is wrong with it
                found.append(where(prepared.root, given).relative)
    return [path for path in found if path]


def _read_input(tool: Tool, given: Any) -> Input:
    if isinstance(given, str):
        raise ToolError("INVALID_INPUT", f"{tool.name}: the arguments are no JSON object: {_json_fault(given)}.")
    if not isinstance(given, dict):
        raise ToolError("INVALID_INPUT", f"{tool.name}: the arguments must be a JSON object, not {_kind(given)}.")
    try:
        return tool.input.model_validate(given)
    except ValidationError as error:
        raise ToolError("INVALID_INPUT", f"{tool.name}: {_faults(error, tool)}") from None


def _json_fault(text: str) -> str:
    try:
        return f"they are {_kind(json.loads(text))}"
    except ValueError as error:
        cut = not text.rstrip().endswith("}")
        return f"{error}" + ("; they seem to be cut off, so send less at once" if cut else "")


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "an object in a text")


def _faults(error: ValidationError, tool: Tool) -> str:
    said = []
    unknown = False
    for fault in error.errors(include_url=False, include_input=False, include_context=False)[:8]:
        where = ".".join(map(str, fault["loc"]))[:100] or "input"
        if fault["type"] == "extra_forbidden":
            unknown = True
            said.append(f"unknown argument {where!r}")
        elif fault["type"] == "missing":
            said.append(f"{where!r} is missing")
        else:
            said.append(f"{where!r}: {fault['msg'].removeprefix('Value error, ')}")
    names = ", ".join(tool.schema().get("properties", {}))
    return "; ".join(said) + (f". The arguments are: {names or 'none'}." if unknown else ".")


def _resolved(args: Input, root: Path | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PATH_ARGUMENTS:
        given = getattr(args, name, None)
        if root is not None and isinstance(given, str):
            try:
                found[name] = names.shown(paths.resolve(root, given).relative) or "."
            except WorkspaceError:
                continue  # the call itself will say what is wrong with it
    return found


# --- the call ------------------------------------------------------------------------------------


def execute(prepared: Prepared, ctx: ToolContext) -> Result:
    """Carry out the call and return its result, timed and bounded; whole outputs that were cut are stored."""
    started = time.perf_counter()
    name, effect = prepared.tool.name, prepared.effect
    result = _execute(prepared, replace(ctx, tool=name, effect=effect, rules=ctx.rules.of_call(name, effect)))
    return replace(result, duration_ms=round((time.perf_counter() - started) * 1000, 3))


def _execute(prepared: Prepared, ctx: ToolContext) -> Result:
    tool = prepared.tool
    if ctx.cancelled.is_set():
        return failure(ToolError("CANCELLED", f"{tool.name}: the run was cancelled before this call began."))
    try:
        return _bounded(tool.run(ctx, prepared.args), tool, ctx)
    except ToolError as error:
        return _bounded(failure(error), tool, ctx)
    except WorkspaceError as error:
        return _bounded(failure(ToolError(error.code, error.message)), tool, ctx)
    except OSError as error:
        return _os_failure(error, prepared)
    except Exception as error:  # noqa: BLE001 -- a bug in a tool must not end the run: the model can go on
        return _bug(tool, error)


def failure(error: ToolError) -> Result:
    """Return an expected failure as a result."""
    content = f"<tool_use_error>{error.code}: {error.message}</tool_use_error>"
    return Result(content, error.data, is_error=True, code=error.code)


def _os_failure(error: OSError, prepared: Prepared) -> Result:
    if error.errno not in OS_ERRORS:
        return _bug(prepared.tool, error)
    code, words = OS_ERRORS[error.errno]
    if prepared.effect is Effect.READ and error.errno in (errno.EACCES, errno.EPERM):
        code, words = "DENIED", "its mode does not let it be read"
    subject = next((str(v) for n in PATH_ARGUMENTS if (v := getattr(prepared.args, n, None))), prepared.tool.name)
    return failure(ToolError(code, f"{subject}: {words}."))


def _bug(tool: Tool, error: Exception) -> Result:
    trace = cuts.tail("".join(traceback.format_exception(error)), 8000)
    logger.error("tool %s failed: %s", tool.name, trace)
    told = ToolError("INTERNAL_ERROR", f"{tool.name} has a fault of its own; it is in the log. Try another way.")
    return failure(ToolError(told.code, told.message, {"traceback": trace}))


# --- after ---------------------------------------------------------------------------------------


def _bounded(result: Result, tool: Tool, ctx: ToolContext) -> Result:
    cap = tool.cap(ctx.limits)
    whole = result.whole
    if len(result.content) > cap + _NOTE_CHARS:
        whole = whole or result.content
        result = replace(result, content=outputs.head_and_tail(result.content, cap), truncated=True)
    if whole is None or result.output_ref:
        return result
    return replace(result, whole=None, output_ref=outputs.store(ctx.workspace, ctx.call_id, whole), truncated=True)
