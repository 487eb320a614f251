"""The real tools at work in this very process, and what the references need of the same place."""

import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from agents.models import Agent, Policy
from agents.tools.base import Result
from agents.toolshell import scratch
from agents.toolshell.loan import Loan, lent
from agents.toolshell.session import Done, Session, opened
from benchmarks import trees
from workspaces import ripgrep, sandbox, snapshots
from workspaces.sandbox import bwrap
from workspaces.sandbox.identity import FIRST_UID, is_root
from workspaces.sandbox.supervise import as_user


class Failed(Exception):
    """A call that should have worked did not; the message is its result."""


@dataclass
class Desk:
    """An implementer in one tree."""

    session: Session

    @property
    def tree(self) -> Path:
        return self.session.workspace.tree

    def done(self, name: str, **arguments: Any) -> Done:
        """Call a tool and nothing more. Raises Failed."""
        done = self.session.perform(name, arguments)
        if done.result.is_error:
            raise Failed(f"{name}: {done.result.content}")
        return done

    def call(self, name: str, **arguments: Any) -> Result:
        """Call a tool and return its result. Raises Failed."""
        return self.done(name, **arguments).result

    def write(self, name: str, **arguments: Any) -> None:
        """Call a tool that writes and commit the read state, as every call of a run does."""
        self.done(name, **arguments)
        self.session.save_reads()

    def snapshot(self, call_id: str, touched: Sequence[str] | None) -> None:
        """Take the snapshot that a call asks for which touched these paths, or any."""
        snapshots.take(self.session.workspace, call_id=call_id, step=0, paths=touched)

    def forget(self) -> None:
        """Note that nothing which was read is in the agent's context any more."""
        self.session.reads.forget_context(10**9)


@dataclass
class Place:
    """The folder that all is made in. Trees are made when a row first asks for them."""

    folder: Path
    uid: int | None
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def desk(self, tree: Path) -> Desk:
        """Open a session in a tree of this place."""
        sandbox.own(tree, self.uid)
        loan = _Numbered(uid=self.uid, number=next(self._numbers))
        return Desk(opened(tree, loan, Policy(), Agent.IMPLEMENTER))

    @cached_property
    def database(self) -> sqlite3.Connection:
        """A database like that of the tools, for references that commit a row."""
        connection = sqlite3.connect(self.folder / "reference.sqlite3", isolation_level=None)
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE seen (path TEXT PRIMARY KEY, sha TEXT);"
        )
        return connection

    def commit(self, path: str) -> None:
        self.database.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (path, os.urandom(32).hex()))

    @cached_property
    def files(self) -> Desk:
        """A small tree with files of several sizes."""
        tree = trees.plain(
            self.folder / "trees" / "files",
            long=trees.short_text(2_000),
            edited=trees.text(2_000),
            vast=trees.text(200_000),
            large=trees.large_text(5_000_000),
        )
        return self.desk(tree)

    @cached_property
    def ignoring(self) -> Desk:
        """20,000 files: 4,000 committed, 16,000 in folders that git ignores."""
        return self.desk(trees.project(self.folder / "trees" / "ignoring", 4_000, 16_000))

    @cached_property
    def wide(self) -> Desk:
        """20,000 committed files."""
        return self.desk(trees.project(self.folder / "trees" / "wide", 20_000))

    @cached_property
    def changed(self) -> Desk:
        """2,600 committed files, 50 of them changed since."""
        tree = trees.project(self.folder / "trees" / "changed", 2_600)
        trees.change(tree, 50)
        return self.desk(tree)

    @cached_property
    def usual(self) -> Desk:
        """2,600 committed files, none changed."""
        return self.desk(trees.project(self.folder / "trees" / "usual", 2_600))


@dataclass(frozen=True)
class _Numbered(Loan):
    """A loan of nothing, since the trees are ours, with a workspace number of its own."""

    number: int = 1

    @property
    def pk(self) -> int:
        return super().pk * self.number


@contextmanager
def place() -> Iterator[Place]:
    """Yield a new place below TMPDIR, removed afterwards; the installation's own data is not touched."""
    folder = scratch.make_folder()
    with lent(Loan(), folder):
        scratch.move_in(folder)
        yield Place(folder, FIRST_UID if is_root() else None)


def rg(tree: Path, *words: str) -> bytes:
    """Run ripgrep as a person would, and take all that it says."""
    done = subprocess.run([ripgrep.binary(), *words], cwd=tree, capture_output=True, check=False)
    return done.stdout


class Confined:
    """The very line that run_command uses, made beforehand and started in the same way, by subprocess alone."""

    def __init__(self, desk: Desk, command: str) -> None:
        self.desk, self.command = desk, command
        self.held = ExitStack()

    def prepare(self) -> None:
        self.held.close()
        wall = sandbox.probe().wall
        assert wall is not None
        self.launch = bwrap.confined(wall, self.command, self.desk.session.place, sandbox.Limits(), self.held)

    def run(self) -> None:
        launch = self.launch
        by, identity = as_user(launch.uid)
        subprocess.run(
            [*by, *launch.argv],
            env=launch.env,
            cwd=launch.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=launch.fds,
            check=True,
            **identity,
        )


def side_by_side(tree: Path, *commands: list[str]) -> None:
    """Run git commands at the same time and take all that they say."""
    running = [
        subprocess.Popen(["git", *words], cwd=tree, env=trees.GIT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for words in commands
    ]
    readers = [threading.Thread(target=process.communicate) for process in running]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
