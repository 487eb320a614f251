"""What the body of each tool's card shows: bounded rows for the templates agents/cards/_<tool>.html."""

from collections.abc import Callable
from typing import Any

from agents.bodies import changing, commands, comparing, detecting, learning, looking, reading
from agents.told import Told


def body(call: Told) -> dict[str, Any]:
    """Return what the template of the call's tool shows, beside the card itself; nothing for an unknown tool."""
    make = _MAKERS.get(call.tool)
    return make(call) if make else {}


_MAKERS: dict[str, Callable[[Told], dict[str, Any]]] = {
    "read_file": reading.read,
    "write_file": changing.changed,
    "edit_file": changing.changed,
    "replace_lines": changing.changed,
    "insert_lines": changing.changed,
    "edit_notebook": changing.notebook_changed,
    "revert_file": changing.reverted,
    "list_directory": looking.listed,
    "list_sakura_directory": looking.listed,
    "glob": looking.globbed,
    "search_in_files": looking.searched,
    "check_changes": comparing.compared,
    "detect_project": detecting.detected,
    "read_sakura_docs": learning.documents,
    "read_sakura_memory": learning.memories,
    "use_skill": learning.skill,
    "run_command": commands.ran,
    "command_output": commands.followed,
    "stop_command": commands.followed,
}
