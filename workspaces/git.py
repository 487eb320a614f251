"""All of Sakura's git: GitPython's command layer with an environment, bounds and a process group of our own."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import git.cmd
from django.conf import settings

from workspaces import credentials
from workspaces.git_process import OUTPUT_LIMIT, Bounds, GitError, GitFull, GitStopped, GitTimeout, Running, Talk, end
from workspaces.models import Repository

__all__ = ["Bounds", "Git", "GitError", "GitFull", "GitStopped", "GitTimeout", "Running", "keep", "locked", "make_bare"]

INHERITED = frozenset(
    {"TMPDIR", "TZ", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "http_proxy"}
    | {"https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}
)
"""All that git sees of the server's environment, with what is absolute of PATH."""

SSH = "ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=4 -oForwardAgent=no"

CONFIG = """\
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tautocrlf = false
\tsymlinks = true
\tfileMode = true
\tlogAllRefUpdates = false
\tprotectHFS = true
\tprotectNTFS = true
\tbigFileThreshold = 32m
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
[fetch]
\trecurseSubmodules = false
\twriteCommitGraph = false
[credential]
\thelper =
[protocol]
\tallow = never
[protocol "https"]
\tallow = always
[protocol "ssh"]
\tallow = always
[protocol "file"]
\tallow = always
[advice]
\tdetachedHead = false
"""
"""The whole of git's user configuration; there is no system one."""

ATTRIBUTES = "* -text -filter -ident !diff -merge -working-tree-encoding -export-subst\n"
"""Bytes are stored and written as they are. `!diff`, not `-diff`: the latter would call every file binary."""


class Git:
    """Runs git on one repository of ours, never on one whose configuration somebody else can write."""

    def __init__(
        self,
        git_dir: Path | None,
        *,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.git_dir = git_dir
        self._folder = work_tree or git_dir or Path("/")
        places = {"GIT_DIR": git_dir, "GIT_WORK_TREE": work_tree, "GIT_INDEX_FILE": index}
        self._env = environment() | {name: str(path) for name, path in places.items() if path} | dict(env or {})

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        timeout_s: float = 60,
        ok: tuple[int, ...] = (0,),
        limit_bytes: int = OUTPUT_LIMIT,
    ) -> bytes:
        """Run git and return what it printed. Raises GitError when it ends with a code that is not `ok`."""
        return self.run_within(Bounds(timeout_s, limit_bytes), *args, input=input, ok=ok)

    def run_within(self, bounds: Bounds, *args: str, input: bytes | None = None, ok: tuple[int, ...] = (0,)) -> bytes:
        """Like `run`, with bounds of its own. Raises GitTimeout and GitStopped, with the process group gone."""
        with self.started(bounds, *args, input=input, ok=ok) as running:
            return running.output()

    @contextmanager
    def started(
        self, bounds: Bounds, *args: str, input: bytes | None = None, ok: tuple[int, ...] = (0,)
    ) -> Iterator["Running"]:
        """Start git and go on meanwhile; ask for its `output` in the block, at whose end the process group is gone."""
        process = self._start(args, piped=input is not None)
        try:
            yield Running(process, Talk(process, input, bounds), args, ok)
        finally:
            end(process)

    def head(self, *args: str, limit_bytes: int, timeout_s: float = 60) -> bytes:
        """Run git and return the first bytes of what it prints; it is ended when there is more."""
        with self.started(Bounds(timeout_s, limit_bytes), *args) as running:
            return running.head(limit_bytes)[0]

    def text(self, *args: str, timeout_s: float = 60, ok: tuple[int, ...] = (0,)) -> str:
        """Run git and return its output as text without the final newline."""
        return self.run(*args, timeout_s=timeout_s, ok=ok).decode(errors="surrogateescape").rstrip("\n")

    def _start(self, args: tuple[str, ...], *, piped: bool) -> "subprocess.Popen[bytes]":
        # GitPython hands its child the whole environment of the server, so `env` takes away all but the allow-list.
        kept = INHERITED | self._env.keys()
        unset = [f"-u{name}" for name in os.environ if name not in kept]
        handle = git.cmd.Git(self._folder).execute(
            ["env", *unset, "git", *args],
            env=self._env,
            as_process=True,
            istream=subprocess.PIPE if piped else None,
            start_new_session=True,
        )
        process = handle.proc
        assert process is not None
        handle.proc = None  # ours from here; GitPython would end only the first process of the group
        return process


# --- environment -------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """Return what every git of ours is told: our configuration, no prompt, no pager, no user's home."""
    folder = Path(settings.SAKURA_DATA_DIR) / "git"
    return _told(folder, keep(folder / "config", CONFIG))


def source_env(repository: Repository) -> dict[str, str]:
    """Return what git is told when it talks to the repository's source: also ssh without prompts, and the credential.

    The credential goes into the environment of git alone, never into a command line or a URL.
    """
    config = keep(repository.folder / "gitconfig", CONFIG + "[safe]\n\tdirectory = *\n")
    told = _told(Path(settings.SAKURA_DATA_DIR) / "git", config) | {"GIT_SSH_COMMAND": SSH}
    if repository.credential and repository.source.startswith("https://"):
        told |= credentials.header(repository.source, bytes(repository.credential))
    return told


def _told(home: Path, config: Path) -> dict[str, str]:
    return {
        "PATH": _absolute(os.environ.get("PATH", os.defpath)),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "LANGUAGE": "C",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_AUTHOR_NAME": "Sakura",
        "GIT_AUTHOR_EMAIL": "sakura@sakura.invalid",
        "GIT_COMMITTER_NAME": "Sakura",
        "GIT_COMMITTER_EMAIL": "sakura@sakura.invalid",
    }


def _absolute(path: str) -> str:
    """Return a PATH without what would be looked for in the folder where git works."""
    return os.pathsep.join(each for each in path.split(os.pathsep) if os.path.isabs(each))


def keep(path: Path, text: str) -> Path:
    """Make sure that the file at `path`, in a folder of ours, holds this text; it is replaced whole."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return path
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o644)
    os.replace(temporary, path)
    return path


def make_bare(folder: Path, *, shared: bool = False) -> Git:
    """Make an empty bare repository of ours at `folder`, if there is none, and return it.

    `shared`: others may read it, whatever the umask; an agent reads the mirror's objects as another user.
    """
    if not (folder / "HEAD").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        Git(None).run(
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--object-format=sha1",
            *(["--shared=0644"] if shared else []),
            "--",
            str(folder),
        )
    keep(folder / "info" / "attributes", ATTRIBUTES)
    return Git(folder)


@contextmanager
def locked(path: Path, timeout_s: float) -> Iterator[None]:
    """Hold the lock file at `path`. Raises TimeoutError when somebody else has it for longer than `timeout_s`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_s
    with open(path, "ab") as file:
        while True:
            try:
                flock(file, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path.name} is held by somebody else") from None
                time.sleep(0.05)
        yield
