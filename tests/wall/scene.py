"""The scene of an attack: a run with its tools, and around it, as real as can be, what it must not reach."""

import json
import os
import secrets
import signal
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.test import override_settings

from agents.tools.base import Result
from tests.agents.tools.bench import Bench
from tests.wall import surroundings
from tests.wall.attack import Attack
from workspaces import sandbox
from workspaces.sandbox import own, seccomp

HERE = Path(__file__).parent
PROGRAMS = {"python": ("py", "/usr/bin/python3"), "bash": ("sh", "/bin/bash"), "perl": ("pl", "/usr/bin/perl")}
ERRNO, ERRNO_MASK, RETURN = 0x00050000, 0x7FFF0000, 0x06
OTHER_ERRNO = {"EXFULL": 54}


class Scene:
    """One attack's scene. Everything outside belongs to the user of the commands, so that only the wall protects it."""

    def __init__(self, bench: Bench, held: ExitStack) -> None:
        self.bench, self.held = bench, held
        self.uid = sandbox.worker_uid(bench.workspace.pk)
        self.word, self.treasure = secrets.token_hex(8), secrets.token_hex(16)
        self.outside_folder = Path(settings.SAKURA_DATA_DIR) / "outside"
        self.outside_folder.mkdir()
        self.told: dict[str, Any] = {"outside": str(self.outside_folder), "tree": str(bench.tree), "word": self.word}
        self.told["numbers"] = seccomp.DENIED | seccomp.WATCHED
        self.results: list[Result] = []
        self.datagrams: list[Any] = []
        self.server: surroundings.Victim | None = None
        self.put("treasure", self.treasure)
        self.told["treasure"] = str(self.outside_folder / "treasure")
        self.outside_then = self.outside_now()

    @classmethod
    @contextmanager
    def of(cls, attack: Attack, bench: Bench) -> Iterator["Scene"]:
        """Set the scene for an attack; all that was started for it ends with the block."""
        with ExitStack() as held:
            scene = cls(bench, held)
            held.callback(scene._end_commands)
            for name in attack.needs:
                scene.told |= getattr(surroundings, name)(scene)
            yield scene

    def put(self, name: str, content: str | bytes) -> Path:
        """Write a file outside the tree that the commands' user owns."""
        path = self.outside_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        own(self.outside_folder, self.uid)
        return path

    def write(self, name: str, content: str) -> Path:
        """Write a file of the tree that the commands' user owns."""
        path = self.bench.write(name, content)
        own(self.bench.tree, self.uid)
        return path

    # --- running ---------------------------------------------------------------------------------------------

    def inside(self, attack: Attack, *, answer: str | None = "EPERM") -> Result:
        """Run it in the sandbox. `answer`: what the filter says to what it denies; None: there is no filter."""
        with patch.object(seccomp, "program", _other_filter(seccomp.program(), answer)):
            return self._run(attack, "full")

    def outside(self, attack: Attack, *, before: str = "") -> Result:
        """Run it without the sandbox, as the same user; `before` stands in front of the line."""
        with override_settings(SAKURA_SANDBOX="off"):
            return self._run(attack, "off", before)

    def command_outside(self, command: str) -> Result:
        """Run another command of the same run without the sandbox."""
        with override_settings(SAKURA_SANDBOX="off"):
            return self.bench.call("run_command", command=command)

    def _run(self, attack: Attack, level: str, before: str = "") -> Result:
        self._lay_out(attack, before)
        self.bench.cancelled.clear()
        bounds = {f"SAKURA_{name}": value for name, value in attack.bounds.items() if level == "full"}
        with override_settings(**bounds), ExitStack() as staged:
            attack.stage(self, staged)
            result = self.bench.call(
                "run_command",
                command="bash attack/start.sh",
                timeout_ms=attack.timeout_ms,
                run_in_background=attack.in_background,
            )
        assert attack.in_background or result.data["applied"]["level"] == level, result.content
        self.results.append(result)
        return result

    def _lay_out(self, attack: Attack, before: str) -> None:
        suffix, program = PROGRAMS[attack.language]
        words = " ".join(part for part in (before, program) if part)
        values = "".join(f"{name}='{value}'\n" for name, value in self.told.items() if isinstance(value, str | int))
        self.write(f"attack/go.{suffix}", attack.preamble + attack.script)
        self.write("attack/kit.py", (HERE / "kit.py").read_text())
        self.write("attack/scene.json", json.dumps(self.told))
        self.write("attack/start.sh", f"set -a\n{values}set +a\nexec {words} attack/go.{suffix}\n")

    def _end_commands(self) -> None:
        self.bench.jobs.stop(self.bench.jobs.running())
        end_daemon(self.bench.tree)

    # --- looking at what became of it ------------------------------------------------------------------------

    def outside_now(self) -> dict[str, tuple[int, bytes]]:
        paths = sorted(self.outside_folder.rglob("*"))
        return {str(path): (path.lstat().st_mode, path.read_bytes()) for path in paths if path.is_file()}

    def was_heard(self) -> bool:
        """Return whether a datagram with the word came to one of the machine's listeners."""
        said = b""
        for listener in self.datagrams:
            with suppress(BlockingIOError):
                said += listener.recv(4096)
        return self.word.encode() in said

    def server_was_harmed(self) -> bool:
        assert self.server is not None
        return self.server.state() != self.server.before

    def use_tools(self) -> str:
        """Let every tool look at the tree, and one write there; return all that they said."""
        calls: list[tuple[str, dict[str, Any]]] = [
            ("list_directory", {"recursive": True}),
            ("glob", {"pattern": "**/*"}),
            ("search_in_files", {"pattern": "[0-9a-f]{32}", "output_mode": "content"}),
            ("detect_project", {}),
            ("check_changes", {}),
            ("read_file", {"file_path": "README.md"}),
            ("write_file", {"file_path": "notes.md", "content": f"Notes {secrets.token_hex(2)}\n"}),
        ]
        return "\n".join(self.bench.give(name, arguments).content for name, arguments in calls)


def end_daemon(tree: Path) -> None:
    """End the daemon of a control, if it is still the process that told its number."""
    with suppress(OSError, ValueError):
        pid = int((tree / "attack" / "ready").read_text())
        if b"attack/go.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def _other_filter(program: bytes, answer: str | None) -> Any:
    """Return what gives the filter with another answer to what is denied, or one that denies nothing."""
    found = b"".join(_other_step(program[at : at + 8], answer) for at in range(0, len(program), 8))
    return lambda machine="": found


def _other_step(step: bytes, answer: str | None) -> bytes:
    code, then, otherwise, value = struct.unpack("<HBBI", step)
    if code != RETURN or answer == "EPERM":
        return step
    if answer is None:
        value = ERRNO_MASK  # SECCOMP_RET_ALLOW
    elif value & ERRNO_MASK == ERRNO:
        value = ERRNO | OTHER_ERRNO[answer]
    return struct.pack("<HBBI", code, then, otherwise, value)
