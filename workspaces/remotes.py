"""How git talks to a source: with which words, and what its complaints mean in a sentence."""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from workspaces import credentials, cuts
from workspaces.git import Git, GitError, GitTimeout, source_env
from workspaces.models import Repository


class SourceError(Exception):
    """What is wrong with a source, or a name in it: what, on what, and what to try."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Complaint:
    """What git says when something is wrong, and what we say then."""

    pattern: str
    code: str
    sentence: str


_COMPLAINTS = [
    Complaint(
        r"Host key verification failed",
        "HOST_KEY",
        "ssh does not know the key of this host yet; as the user that runs Sakura, run `ssh {host}` once and check it",
    ),
    Complaint(
        r"Permission denied \(|publickey",
        "DENIED",
        "ssh was refused; give the host the public key of the user that runs Sakura, with access to the repository",
    ),
    Complaint(
        r"could not read (Username|Password)|prompts disabled|Authentication failed|returned error: 40[13]",
        "DENIED",
        "it is private, does not exist, or the credential was refused; enter a token that may read it (to push: write)",
    ),
    Complaint(
        r"Could not resolve host|Name or service not known",
        "NO_HOST",
        "the host is not known here; check its name and the network",
    ),
    Complaint(
        r"SSL|certificate",
        "CERTIFICATE",
        "the certificate of the host was refused; set GIT_SSL_CAINFO to the file of the authority that signed it",
    ),
    Complaint(
        r"Connection refused|timed? ?out|unreachable|Failed to connect|Connection reset",
        "UNREACHABLE",
        "the host does not answer; check address, port and network, then try again",
    ),
    Complaint(
        r"mismatched algorithms|hash algorithm",
        "SHA256",
        "it is a SHA-256 repository, which Sakura can't work with; use a SHA-1 one",
    ),
    Complaint(r"shallow", "SHALLOW", "it is a shallow clone; run `git fetch --unshallow` in it, then try again"),
    Complaint(
        r"[Rr]epository .*not found|not appear to be a git|not a git repository|returned error: 404|does not exist",
        "NOT_FOUND",
        "there is no git repository; check the address",
    ),
    Complaint(r"No space left|Disk quota", "DISK_FULL", "the disk of the server is full; make room, then try again"),
    Complaint(
        r"Permission denied|insufficient permission|unable to create temporary",
        "DENIED",
        "the user that runs Sakura may not read it (to push: write it); give it access",
    ),
    Complaint(
        r"bad object|missing (blob|tree|commit)|not our ref|did not send all necessary|promisor",
        "BROKEN",
        "objects are missing in it; run `git fsck` there, or `git fetch --refetch` if it is a partial clone",
    ),
]


def local_path(source: str) -> Path | None:
    """Return the folder that a source names, or None for one on another host."""
    return Path(source) if source.startswith("/") else None


def talk(repository: Repository, git_dir: Path | None) -> Git:
    """Return the git to talk to the repository's source with."""
    return Git(git_dir, env=source_env(repository))


def program(repository: Repository, name: str) -> list[str]:
    """Return the option that says how git runs at a local source: nothing that the source configures may run.

    As root it runs as the source's owner, so that what a push makes there belongs to that user.
    """
    path = local_path(repository.source)
    if path is None:
        return []
    told = (
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.alternateRefsCommand=true",
        "receive.denyCurrentBranch=refuse",
        "receive.autogc=false",
        "pack.window=0",  # on one machine a search for deltas only costs time
        "safe.directory=*",
    )
    words = [*_as_owner(path), "git", *(word for each in told for word in ("-c", each)), name]
    return [f"--{name}={shlex.join(words)}"]


def _as_owner(path: Path) -> list[str]:
    owner = path.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return []
    who = [f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
    return ["env", "GIT_CONFIG_GLOBAL=/dev/null", "setpriv", *who]


def source_error(repository: Repository, error: GitError) -> SourceError:
    """Return what git's complaint means."""
    where = f"{repository.source}: "
    if isinstance(error, GitTimeout):
        return SourceError("TIMEOUT", f"{where}it took too long ({error}); try again, or when the network is quicker.")
    said = masked(repository, error.stderr)
    for each in _COMPLAINTS:
        if re.search(each.pattern, said):
            return SourceError(each.code, where + each.sentence.replace("{host}", _host(repository.source)) + ".")
    told = cuts.tail(" ".join(said.split()), 300) or str(error)
    return SourceError("GIT", f"{where}git could not do it. It says: {told}")


def no_folder(repository: Repository) -> SourceError:
    """Return what is said of a local source whose folder is gone."""
    return SourceError("NOT_FOUND", f"{repository.source}: there is no such folder; check the path.")


def masked(repository: Repository, text: str) -> str:
    secret = credentials.unseal(bytes(repository.credential)) if repository.credential else ""
    return credentials.masked(text, secret)


def _host(source: str) -> str:
    found = re.search(r"^(?:\w+://)?((?:[^/@]+@)?[^/:]+)", source)
    return found[1] if found else source
