"""The environment a command starts with: an allow-list, nothing of the server's own."""

from collections.abc import Iterable

from django.conf import settings

HOME = "/home/agent"
TMP = "/tmp"  # noqa: S108  the sandbox's own
TREE = "/workspace"
PROXY_PORT = 3128
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
PROGRAMS = {".venv": "bin", "venv": "bin", "node_modules": ".bin", "vendor": "bin"}
"""Where a folder of a project keeps programs."""
PRIVATE_PATH = (".local/bin", ".cargo/bin", "go/bin")
FIXED = {
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/bash",
    "TMPDIR": TMP,
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "CI": "1",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Sakura agent",
    "GIT_AUTHOR_EMAIL": "agent@sandbox",
    "GIT_COMMITTER_NAME": "Sakura agent",
    "GIT_COMMITTER_EMAIL": "agent@sandbox",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONUNBUFFERED": "1",  # a program's two streams in their order, and a server's first words at once
}
"""What is the same for every command."""


def toolchain_paths() -> list[str]:
    """Return the folders of programs of SAKURA_TOOLCHAINS: `bin` where there is one, else the folder itself."""
    return [str(path / "bin" if (path / "bin").is_dir() else path) for path in settings.SAKURA_TOOLCHAINS]


def clean(
    folders: list[str],
    *,
    home: str = HOME,
    tree: str = TREE,
    proxied: bool = False,
    secrets: Iterable[tuple[str, str]] = (),
) -> dict[str, str]:
    """Return the whole environment; `folders` (of PROGRAMS, below the tree) bring programs.

    For a command with secrets a name means the machine's program, wherever there is one: not what an agent gave the
    same name, in the tree or in HOME.
    """
    given = dict(secrets)
    found = {"PATH": _path(folders, home, tree, is_guarded=bool(given)), "HOME": home, **FIXED}
    if ".venv" in folders:
        found["VIRTUAL_ENV"] = f"{tree}/.venv"
    return found | (_proxy() if proxied else {}) | given


def _path(folders: list[str], home: str, tree: str, *, is_guarded: bool) -> str:
    """Return where programs are looked for: where it is guarded, in an agent's own folders last."""
    programs = [f"{tree}/{folder}/{inner}" for folder in folders if (inner := PROGRAMS.get(folder))]
    private = [f"{home}/{name}" for name in PRIVATE_PATH]
    usual = [*programs, *toolchain_paths(), *private, *SYSTEM_PATH]
    return ":".join([*toolchain_paths(), *SYSTEM_PATH, *programs, *private] if is_guarded else usual)


def _proxy() -> dict[str, str]:
    address = f"http://127.0.0.1:{PROXY_PORT}"
    found = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), address)
    java = " ".join(f"-D{kind}.proxyHost=127.0.0.1 -D{kind}.proxyPort={PROXY_PORT}" for kind in ("http", "https"))
    found |= dict.fromkeys(("MAVEN_OPTS", "GRADLE_OPTS"), java)  # Java does not know the variables above
    return found | dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
