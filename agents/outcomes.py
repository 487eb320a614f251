"""How a call went, in the few words at the end of its card's head: counts, a range, an exit code."""

from dataclasses import dataclass
from typing import Any

from agents import told
from agents.bodies import changing
from agents.told import Told


@dataclass(frozen=True)
class Part:
    """Some words. `tone`: "" plain, plus, minus; ok, bad, info, warn for a badge, which has an icon too."""

    text: str
    tone: str = ""
    icon: str = ""

    @property
    def is_badge(self) -> bool:
        return bool(self.icon)


def outcome(call: Told) -> list[Part]:
    """Return the words for a call that succeeded; none where nothing is known."""
    make = _MAKERS.get(call.tool)
    return make(call) if make else _of_any(call)


def _words(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# --- files ---------------------------------------------------------------------------------------


def _read(call: Told) -> list[Part]:
    image, pdf, cells = call.part("image"), call.part("pdf"), call.part("notebook")
    match call.text("kind"):
        case "image":
            return _picture(image)
        case "pdf":
            pages, total = told.text(pdf.get("shown")), told.count(pdf.get("total"))
            word = "pages" if any(sign in pages for sign in "-,") else "page"
            return (
                [Part(f"PDF {word} {pages.replace('-', '–')} of {total:,}")] if pages and total else [Part("unchanged")]
            )
        case "notebook":
            count, shown = told.count(cells.get("total")), told.count(cells.get("pictures"))
            pictures = f", {_words(shown, 'picture')}" if shown else ""
            return [Part("unchanged")] if count is None else [Part(_words(count, "cell") + pictures)]
        case _:
            return _range(call)


def _picture(image: dict[str, Any]) -> list[Part]:
    kind = told.text(image.get("media_type")).removeprefix("image/").upper()
    width, height = told.count(image.get("width")), told.count(image.get("height"))
    return [Part(f"{kind} {width:,} × {height:,}".strip())] if width and height else [Part("unchanged")]


def _range(call: Told) -> list[Part]:
    start, end, total = call.count("start"), call.count("end"), call.count("total")
    if start is None or end is None:
        return []
    again = [Part("unchanged")] if "unchanged since your read at step" in call.content[-200:] else []
    if total == 0 or end == 0:
        return [Part("empty")]
    if start == 1 and end == total:
        return [Part(_words(end, "line")), *again]
    span = f"line {start:,}" if start == end else f"lines {start:,}–{end:,}"
    return [Part(f"{span} of {total:,}" if total is not None else f"{span}, of more"), *again]


def _changed(call: Told) -> list[Part]:
    additions, deletions = call.count("additions"), call.count("deletions")
    if additions is None and deletions is None:
        return []
    return _counts(additions or 0, deletions or 0)


def _counts(additions: int, deletions: int) -> list[Part]:
    return [Part(f"+{additions:,}", "plus"), Part(f"−{deletions:,}", "minus")]


def _cell_changed(call: Told) -> list[Part]:
    change = changing.cell_change(call)
    return _changed(call) if change is None else _counts(change.additions, change.deletions)


def _reverted(call: Told) -> list[Part]:
    files = call.rows("files")
    if "files" in call.data and not files:
        return [Part("no difference")]
    now = next((told.text(each.get("now")) for each in files if each.get("path") == call.data.get("path")), "")
    gone = {"absent": "gone", "link": "a link", "submodule": "a submodule"}.get(now, "")
    many = f"{_words(len(files), 'file')}" if len(files) > 1 else ""
    counts = [Part("binary")] if call.data.get("binary") is True and now != "absent" else _changed(call)
    return [*(Part(words) for words in (gone, many) if words), *counts]


# --- looking -------------------------------------------------------------------------------------


def _listed(call: Told) -> list[Part]:
    if call.data.get("exists") is False:
        return [Part("no .sakura")]
    shown, total = len(call.rows("entries")), call.count("total")
    if total is None:
        return []
    least = "at least " if call.data.get("complete") is False else ""
    entries = least + _words(total, "entry", "entries")
    return [Part(f"{shown:,} of {entries}" if shown < total else entries)]


def _globbed(call: Told) -> list[Part]:
    total = call.count("total")
    return [] if total is None else [Part(_words(total, "file") if total else "no file")]


def _searched(call: Told) -> list[Part]:
    total, files = call.count("total"), call.count("files")
    if not total:
        return [Part("no match")]
    if call.text("mode") == "files_with_matches":
        return [Part(_words(total, "file"))]
    where = f" in {_words(files, 'file')}" if files else ""
    return [Part(f"{_words(total, 'match', 'matches')}{where}")]


def _compared(call: Told) -> list[Part]:
    total = call.count("total")
    total = len(call.rows("files")) if total is None else total
    return [Part(_words(total, "file")), *_changed(call)] if total else [Part("no change")]


def _detected(call: Told) -> list[Part]:
    names = [told.text(each.get("name")) for each in call.rows("languages")]
    commands = sum(len(told.rows(each.get("commands"))) for each in call.rows("projects"))
    words = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [Part(part) for part in (words, _words(commands, "command") if commands else "no command") if part]


def _docs(call: Told) -> list[Part]:
    if call.data.get("exists") is False:
        return [Part("no .sakura")]
    if call.count("start"):
        return _range(call)
    return [Part(_words(call.count("total") or 0, "document"))] if call.rows("documents") else []


def _memory(call: Told) -> list[Part]:
    if call.data.get("exists") is False:
        return [Part("no memory")]
    shown, total = len(call.rows("entries")), call.count("total")
    if total is None:
        return []
    entries = _words(total, "entry", "entries")
    return [Part(f"{shown:,} of {entries}" if shown < total else entries)]


def _skill(call: Told) -> list[Part]:
    if call.text("file") or not isinstance(call.data.get("tools"), list):
        return []
    return [Part(f"narrows to {_words(len(call.texts('remaining')), 'tool')}", "info", "shield")]


# --- commands ------------------------------------------------------------------------------------


def _ran(call: Told) -> list[Part]:
    if call.data.get("background"):
        state = call.text("state")
        return [Part(f"{call.text('id')} {state}".strip(), "info", "run" if state == "running" else "term")]
    return _ended(call)


def _followed(call: Told) -> list[Part]:
    matched = call.data.get("matched")
    waited = [Part("found" if matched else "not found yet")] if isinstance(matched, bool) else []
    return [*waited, Part("Running", "info", "run")] if call.text("state") == "running" else [*waited, *_ended(call)]


def _stopped(call: Told) -> list[Part]:
    return [Part("had ended by itself"), *_ended(call)] if call.data.get("already_ended") is True else []


_ENDINGS = {
    "timeout": "Timed out",
    "cancelled": "Stopped",
    "stopped": "Stopped",
    "output_limit": "Output limit",
    "memory_limit": "Memory limit",
    "disk_limit": "Disk limit",
    "unavailable": "No sandbox",
    "failed": "Failed",
}


def _ended(call: Told) -> list[Part]:
    """Return the badge of a command that ended: its limit or signal if one ended it, else its exit code."""
    code = call.count("exit_code")
    words = _ENDINGS.get(call.text("ending")) or _ENDINGS.get(call.text("state")) or call.text("signal")
    if words:
        return [Part(words, "" if words == "Stopped" else "bad", "stop" if words == "Stopped" else "fail")]
    if code is None:
        return []
    return [Part(f"Exit {code}", "bad" if code else "ok", "fail" if code else "pass")]


# --- the end of a round --------------------------------------------------------------------------


def _finished(call: Told) -> list[Part]:
    risk = call.text("risk_level")
    return [*_unproven(call), *([Part(f"{risk} risk")] if risk else [])]


def _reviewed(call: Told) -> list[Part]:
    verdict, score = call.text("verdict").replace("_", " "), call.count("score")
    words = ", ".join(filter(None, [verdict, f"{score} of 10" if score else ""]))
    return [*_unproven(call), *([Part(words)] if words else [])]


def _unproven(call: Told) -> list[Part]:
    count = len(call.texts("unproven"))
    return [Part(f"{count} unproven", "warn", "warn")] if count else []


def _of_any(call: Told) -> list[Part]:
    return _ended(call) or _changed(call)


_MAKERS = {
    "read_file": _read,
    "write_file": _changed,
    "edit_file": _changed,
    "replace_lines": _changed,
    "insert_lines": _changed,
    "edit_notebook": _cell_changed,
    "revert_file": _reverted,
    "list_directory": _listed,
    "list_sakura_directory": _listed,
    "glob": _globbed,
    "search_in_files": _searched,
    "check_changes": _compared,
    "detect_project": _detected,
    "read_sakura_docs": _docs,
    "read_sakura_memory": _memory,
    "use_skill": _skill,
    "run_command": _ran,
    "command_output": _followed,
    "stop_command": _stopped,
    "finish_task": _finished,
    "submit_review": _reviewed,
}
