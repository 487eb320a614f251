"""The folders that the tools are measured in, made anew each time: sizes as of real projects, contents from a seed."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

GIT = {
    "PATH": os.defpath + ":/usr/local/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}
FOLDER_FILES = 25
WORDS = (
    *("order", "item", "price", "total", "count", "name", "value", "index", "parse", "render"),
    *("update", "fetch", "store", "cache", "token", "user", "group"),
)
BLOCK_BYTES = 1024 * 1024


def git(tree: Path, *words: str) -> bytes:
    """Run plain git in the tree, with nobody's configuration."""
    return subprocess.run(["git", *words], cwd=tree, env=GIT, check=True, capture_output=True).stdout


def _line(number: int, chance: random.Random) -> str:
    first, second, third = (chance.choice(WORDS) for _ in range(3))
    return f"    {first}_{second} = {third}(self.{second}, {number})  # {first} of {third}\n"


def text(lines: int, seed: int = 1) -> str:
    """Return so many lines that look like source text; the middle one is told apart by its number alone."""
    chance = random.Random(seed)  # noqa: S311 -- nothing secret
    return "".join(_line(number, chance) for number in range(1, lines + 1))


def short_text(lines: int) -> str:
    """Return so many short lines, so that all of them fit into one call's cap of characters."""
    chance = random.Random(lines)  # noqa: S311 -- nothing secret
    return "".join(f"{chance.choice(WORDS)}_{chance.choice(WORDS)} = {number}\n" for number in range(1, lines + 1))


def large_text(size_bytes: int) -> str:
    """Return about so many bytes of text, in lines."""
    return text(size_bytes // 56)[:size_bytes].rpartition("\n")[0] + "\n"


def _names(count: int, top: str) -> Iterator[str]:
    """Yield the names of so many files, two of five of them Python, in folders of folders."""
    endings = (".py", ".ts", ".py", ".md", ".json")
    for number in range(count):
        folder = number // FOLDER_FILES
        yield f"{top}/part{folder // 20}/unit{folder % 20}/{WORDS[number % len(WORDS)]}{number}{endings[number % 5]}"


def _write(tree: Path, count: int, top: str) -> None:
    chance = random.Random(count)  # noqa: S311 -- nothing secret
    for number, name in enumerate(_names(count, top)):
        path = tree / name
        if number % FOLDER_FILES == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(_line(each, chance) for each in range(chance.randint(20, 140)))
        mark = f"def {WORDS[number % 7]}_handler_{number}(request): ...\n" if number % 40 == 0 else ""
        path.write_text(body + mark)


def project(tree: Path, tracked: int, ignored: int = 0) -> Path:
    """Make a git repository with so many committed files, and so many more in folders that it ignores."""
    tree.mkdir(parents=True)
    (tree / ".gitignore").write_text("node_modules/\n.venv/\n")
    (tree / "pyproject.toml").write_text('[project]\nname = "shop"\n\n[tool.pytest.ini_options]\n')
    (tree / "package.json").write_text('{"scripts": {"test": "vitest", "build": "tsc"}}\n')
    _write(tree, tracked, "src")
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "-m", "First")
    _write(tree, ignored // 2, "node_modules")
    _write(tree, ignored - ignored // 2, ".venv")
    return tree


def plain(tree: Path, **files: str) -> Path:
    """Make a git repository of a few files."""
    tree.mkdir(parents=True)
    for name, content in files.items():
        (tree / f"{name}.py").write_text(content)
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "-m", "First")
    return tree


def change(tree: Path, count: int) -> None:
    """Change one line in each of so many files, evenly among all."""
    files = sorted((tree / "src").rglob("*.py"))
    for path in files[:: max(1, len(files) // count)][:count]:
        lines = path.read_text().splitlines(keepends=True)
        lines[len(lines) // 2] = "    changed = True\n"
        path.write_text("".join(lines))


def huge(path: Path, size_bytes: int) -> int:
    """Write a file of text of that size and return how many lines it has."""
    block = large_text(BLOCK_BYTES).encode()  # small, so that its memory does not pass for that of the call
    count = size_bytes // len(block)
    with path.open("wb") as file:
        for _ in range(count):
            file.write(block)
    return count * block.count(b"\n")
