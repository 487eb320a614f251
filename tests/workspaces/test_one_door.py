"""The write door is the only one: whatever else in the code base writes a file is named here, with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITING = frozenset(
    {
        *("write_bytes", "write_text", "touch", "truncate", "ftruncate", "pwrite", "pwritev"),
        *("rename", "renames", "symlink", "symlink_to", "link", "hardlink_to", "mkfifo", "move"),
        *("copy", "copy2", "copyfile", "copyfileobj", "copytree", "mkstemp", "NamedTemporaryFile"),
    }
)
"""Calls that make a file or change what is in one."""
ALSO_OF_TEXTS = frozenset({"replace", "copy", "move"})
"""Those that lists, texts and dicts have too: they count on `os` and `shutil`, and with one argument on a path."""
FLAGS = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"})

ALLOWED: dict[str, tuple[str, str]] = {
    # --- what writes into the tree of a workspace ---
    "workspaces/files.py": (
        "_TO_REWRITE _create _replace _temporary _write_in_place _overwrite _undo _keep_copy _open_lock",
        "the write door itself",
    ),
    "workspaces/trees.py": ("_write put_bytes hand_over", "the other door: snapshots lay out and put back"),
    "workspaces/snapshots.py": ("prepare", "a tree is laid out beside and renamed when it is whole"),
    "workspaces/readable.py": ("_make", "a pack beside the tree, for the agent's git"),
    "workspaces/agent_git.py": ("make make_index", "the agent's own .git, made before the agent is there"),
    # --- what writes beside it ---
    "workspaces/rescue.py": ("note", "notes of begun writes, outside the tree"),
    "workspaces/outputs.py": ("store", "whole outputs that were cut"),
    "workspaces/objects.py": ("Objects.add Objects.flush", "objects of the run store"),
    "workspaces/store.py": ("ensure write_blob", "the run store"),
    "workspaces/rules.py": ("lay_out of_baseline", "the baseline's ignore rules, in a folder of the run's own"),
    "workspaces/git.py": ("keep locked", "git's configuration and locks, in the data folder"),
    "workspaces/sources.py": ("uncommitted", "a copy of a source's index, in a folder for the moment"),
    "workspaces/ripgrep.py": ("_rules", "a file of ignore rules for one search, in the temporary folder"),
    "workspaces/setup.py": ("_alone _in_the_tree _keep _private _set_up", "environments, in the data folder"),
    "agents/events.py": ("_write_body", "bodies of events, in the data folder"),
    "agents/outputs.py": ("mask_stored", "whole outputs that were cut, without the secrets in them"),
    "agents/tools/run_command.py": ("_in_foreground", "the spool of what a command prints"),
    "agents/demo/__init__.py": ("_make_source", "the source of the demo"),
    "agents/management/commands/serve.py": ("_keep_private", "the database file"),
}
"""By module: the functions (or constants) in it that write, and why they may."""
APART = {
    "workspaces/sandbox/": "the sandbox: its own folders, mounts and copies",
    "agents/toolshell/": "a folder that is lent for one session, and its scratch",
    "agents/demo/project/": "text of the demo, not run here",
}
"""Folders of modules that may write where they like, since no tool hands them a path."""


def writes(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield where in the module something is written (the function, else the name assigned), and by what."""

    def walk(node: ast.AST, place: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inner = place
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{place}.{child.name}" if place else child.name
            elif isinstance(child, ast.Assign) and not place:
                inner = ast.unparse(child.targets[0])
            if isinstance(child, ast.Attribute) and child.attr in FLAGS:
                yield inner, child.attr
            if isinstance(child, ast.Call) and _is_write(child):
                yield inner, ast.unparse(child.func)
            yield from walk(child, inner)

    return walk(module, "")


def _is_write(call: ast.Call) -> bool:
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name in ("open", "fdopen"):
        return any(_is_writing_mode(argument) for argument in arguments)
    if name in ALSO_OF_TEXTS:
        is_of_path = name == "replace" and len(call.args) == 1 and not call.keywords and bool(owner)
        return owner in ("os", "shutil") or is_of_path
    return name in WRITING


def _is_writing_mode(argument: ast.expr) -> bool:
    mode = argument.value if isinstance(argument, ast.Constant) else None
    return isinstance(mode, str) and set(mode) <= set("rwaxbt+") and bool(set(mode) & set("wax+"))


def found() -> dict[str, set[str]]:
    """Return the places that write, by module."""
    places: dict[str, set[str]] = {}
    for package in ("workspaces", "agents"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if not name.startswith(tuple(APART)) and "/migrations/" not in name:
                for place, _ in writes(ast.parse(file.read_text())):
                    places.setdefault(name, set()).add(place)
    return places


def test_nothing_writes_files_but_what_is_named_here() -> None:
    unknown = {
        f"{module}: {place}"
        for module, places in found().items()
        for place in places - set(ALLOWED.get(module, ("", ""))[0].split())
    }
    assert unknown == set()


def test_only_the_two_doors_and_no_tool_write_into_a_tree() -> None:
    tools = {module for module in found() if module.startswith("agents/tools/")}
    assert tools <= {"agents/tools/run_command.py"}


def test_every_way_to_write_is_seen() -> None:
    for line in (
        "open(path, 'w')",
        "path.open('r+b')",
        "open(path, mode='ab')",
        "os.open(path, os.O_RDWR)",
        "path.write_text('x')",
        "path.write_bytes(b'x')",
        "os.rename(a, b)",
        "os.replace(a, b)",
        "path.replace(other)",
        "shutil.copy(a, b)",
        "shutil.move(a, b)",
        "os.symlink(a, b)",
    ):
        assert list(writes(ast.parse(f"def f():\n    {line}\n"))), line
    for line in ("open(path)", "path.open('rb')", "text.replace('a', 'b')", "rows.copy()", "os.open(p, os.O_RDONLY)"):
        assert not list(writes(ast.parse(f"def f():\n    {line}\n"))), line
