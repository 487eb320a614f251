"""How the card of each tool begins: icon, verb, what it is about, and what narrows that."""

from dataclasses import dataclass

from agents import told
from agents.told import Told


@dataclass(frozen=True)
class Look:
    """How a tool's card begins: icon, verb while it runs and after, the argument that it is about."""

    icon: str
    doing: str
    done: str
    target: str


LOOKS = {
    "read_file": Look("book", "Reading", "Read", "file_path"),
    "write_file": Look("plus", "Writing", "Wrote", "file_path"),
    "edit_file": Look("pencil", "Editing", "Edited", "file_path"),
    "replace_lines": Look("pencil", "Replacing lines", "Replaced lines", "file_path"),
    "insert_lines": Look("pencil", "Inserting lines", "Inserted lines", "file_path"),
    "edit_notebook": Look("notebook", "Editing", "Edited", "file_path"),
    "list_directory": Look("folder", "Listing", "Listed", "path"),
    "glob": Look("search", "Finding", "Found", "pattern"),
    "search_in_files": Look("search", "Searching", "Searched", "pattern"),
    "run_command": Look("term", "Running", "Ran", "command"),
    "command_output": Look("term", "Following", "Followed", "id"),
    "stop_command": Look("stop", "Stopping", "Stopped", "id"),
    "check_changes": Look("compare", "Comparing", "Compared with the baseline", ""),
    "detect_project": Look("eye", "Looking at the project", "Looked at the project", ""),
    "revert_file": Look("revert", "Putting back", "Put back", "file_path"),
    "read_sakura_docs": Look("book", "Reading docs", "Read docs", "doc_path"),
    "list_sakura_directory": Look("folder", "Listing .sakura", "Listed .sakura", "subdirectory"),
    "read_sakura_memory": Look("book", "Reading memory", "Read memory", "file_name"),
    "use_skill": Look("flag", "Loading skill", "Loaded skill", "skill"),
    "finish_task": Look("flag", "Finishing", "Finished", "summary"),
    "submit_review": Look("shield", "Reviewing", "Reviewed", "summary"),
}
_EFFECT_ICONS = {"READ": "eye", "WRITE": "pencil", "EXECUTE": "term", "NETWORK": "link", "FINISH": "flag"}
_KIND_ICONS = {"image": "image", "pdf": "file", "notebook": "notebook"}


def look_of(tool: str, effect: str) -> Look:
    """Return the look of a tool, or one by its effect for a tool that isn't known."""
    return LOOKS.get(tool) or Look(_EFFECT_ICONS.get(effect, "eye"), "Calling", "Called", "")


def icon(call: Told, look: Look) -> str:
    """Return the icon of a call that succeeded."""
    return _KIND_ICONS.get(call.text("kind"), look.icon) if call.tool == "read_file" else look.icon


def verb(call: Told, look: Look) -> str:
    """Return in a word or two what a call that succeeded did."""
    match call.tool:
        case "edit_notebook":
            cell = call.part("cell")
            done = {"insert": "Inserted", "delete": "Deleted"}.get(told.text(cell.get("mode")), "Edited")
            number = told.count(cell.get("index"))
            return done if number is None else f"{done} cell {number} of"
        case "run_command" if call.data.get("background"):
            return "Started"
        case "use_skill" if call.text("file"):
            return "Read of skill"
        case "write_file" | "edit_file" if call.data.get("created"):
            return "Created"
        case _:
            return look.done


def aside(call: Told) -> str:
    """Return what narrows the target, or names it better: "in src, files like *.py"."""
    match call.tool:
        case "search_in_files" | "glob":
            folder, names, kind = (told.text(call.input.get(key)) for key in ("path", "glob", "type"))
            parts = [f"in {folder}" if folder not in ("", ".") else "", names, kind]
            return ", ".join(part for part in parts if part)
        case "command_output" | "stop_command":
            return " ".join(call.text("command").split())
        case "run_command":
            return " ".join(told.text(call.input.get("description")).split())
        case "list_directory":
            return "with all below" if call.input.get("recursive") is True else ""
        case "check_changes":
            return ", ".join(told.texts(call.input.get("paths"))[:20])
        case "use_skill":
            return told.text(call.input.get("file")) or told.text(call.input.get("args"))
        case "revert_file":
            number = told.count(call.input.get("to"))
            return f"to snapshot {number}" if number else "to the start of the run"
        case _:
            return ""
