"""What a project's own files say about how to set it up and how to check it: proposals, each with its reason."""

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from workspaces.git import Git
from workspaces.models import Repository
from workspaces.projects import Manifests, proposals

FILE_BYTES = 4 * 1024 * 1024
MAX_HOSTS = 12
NAME_THE_HOSTS = (
    "No file of the project names the host of its package index: add it to the set-up hosts as host:port, "
    "as your package manager's configuration has it."
)


class AtTheBase(Manifests):
    """The files at the top of a commit, read from git."""

    def __init__(self, git: Git, commit: str, sizes: dict[str, int]) -> None:
        super().__init__()
        self._git = git
        self._commit = commit
        self._sizes = sizes

    @property
    def names(self) -> Collection[str]:
        return self._sizes

    def read(self, name: str) -> bytes:
        if not 0 < self._sizes.get(name, 0) <= FILE_BYTES:
            return b""
        return self._git.run("cat-file", "blob", f"{self._commit}:{name}")


def suggest(repository: Repository) -> dict[str, Any]:
    """Return {"setup": [{"command", "because"}], "verify": […], "hosts": [{"host", "because"}], "notes": […]}.

    Reads the top folder of the default branch in the mirror; nothing of the project is run. Raises GitError.
    """
    files = _manifests(repository)
    found: dict[str, Any] = {"setup": [], "verify": [], "hosts": _hosts(files), "notes": []}
    for proposal in proposals(files):
        if proposal.first_choice:
            part = "setup" if proposal.kind == "setup" else "verify"
            found[part].append({"command": proposal.command, "because": proposal.because})
    by_make = [check for check in found["verify"] if check["command"].startswith("make ")]
    found["verify"] = by_make or found["verify"]
    if found["setup"] and not found["hosts"]:
        found["notes"].append(NAME_THE_HOSTS)
    return found


def _manifests(repository: Repository) -> Manifests:
    git = Git(repository.mirror)
    name = repository.default_branch or "HEAD"
    commit = git.run("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    listing = git.run("ls-tree", "-l", "-z", commit).decode("utf-8", "surrogateescape")
    lines = [line.partition("\t") for line in listing.split("\0") if line]
    sizes = {name: int(head.split()[3]) if head.split()[3].isdigit() else 0 for head, _, name in lines}
    return AtTheBase(git, commit, sizes)


SOURCES: dict[str, str] = {  # file: what stands before the address of a package index or of a package
    "package-lock.json": r'"resolved":\s*"',
    "npm-shrinkwrap.json": r'"resolved":\s*"',
    "yarn.lock": r'resolved\s+"',
    "pnpm-lock.yaml": r"tarball:\s*",
    ".npmrc": r"registry\s*=\s*",
    ".yarnrc": r'registry\s+"?',
    ".yarnrc.yml": r'[rR]egistry\w*:\s*"?',
    "pip.conf": r"index-url\s*=\s*",
    "requirements.txt": r"(?:--index-url|--extra-index-url|-i)[ =]|@\s*(?:git\+)?",
    "pyproject.toml": r'url\s*=\s*"',
    "poetry.lock": r'url\s*=\s*"',
    "uv.lock": r'(?:url|registry)\s*=\s*"',
    "Pipfile": r'url\s*=\s*"',
    "Gemfile": r'source\s*\(?\s*["\']',
    "Gemfile.lock": r"remote:\s*",
    "Cargo.lock": r'source\s*=\s*"(?:registry|git|sparse)\+',
    "composer.lock": r'"url":\s*"',
}


def _hosts(files: Manifests) -> list[dict[str, str]]:
    """Return the hosts that lock files and settings of package managers fetch from."""
    found: dict[str, str] = {}
    for name, before in SOURCES.items():
        for address in re.findall(rf"(?:{before})(https?://[^\s\"',)#]+)", files.text(name)):
            host = _host(address)
            if host:
                found.setdefault(host, f"{name} names it")
    return [{"host": host, "because": because} for host, because in list(found.items())[:MAX_HOSTS]]


def _host(address: str) -> str:
    """Return host:port of an address, empty where it has none; a name or password in it is left out."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname else ""
