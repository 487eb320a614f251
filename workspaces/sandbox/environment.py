"""The environment a command starts with: an allow-list, nothing of the server's own."""

from pathlib import Path

from django.conf import settings

HOME = "/home/agent"
TREE = "/workspace"
PROXY_PORT = 3128
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
PRIVATE_PATH = (".local/bin", ".cargo/bin", "go/bin")


def toolchain_paths() -> list[str]:
    """Return the folders of programs of SAKURA_TOOLCHAINS: `bin` where there is one, else the folder itself."""
    return [str(path / "bin" if (path / "bin").is_dir() else path) for path in settings.SAKURA_TOOLCHAINS]


def clean(folders: list[str], *, home: str = HOME, tree: str = TREE, proxied: bool = False) -> dict[str, str]:
    """Return the whole environment; `folders` are those that set-up made, as paths below the tree."""
    programs = [f"{tree}/{folder}/{_programs(folder)}" for folder in folders if _programs(folder)]
    path = [*programs, *toolchain_paths(), *(f"{home}/{name}" for name in PRIVATE_PATH), *SYSTEM_PATH]
    found = {
        "PATH": ":".join(path),
        "HOME": home,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "TMPDIR": "/tmp",  # noqa: S108  the sandbox's own
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
    }
    if ".venv" in folders:
        found["VIRTUAL_ENV"] = f"{tree}/.venv"
    return found | (_proxy() if proxied else {})


def _programs(folder: str) -> str:
    """Return where a folder that set-up made keeps programs for the PATH, or an empty word."""
    return {".venv": "bin", "venv": "bin", "node_modules": ".bin", "vendor": "bin"}.get(Path(folder).as_posix(), "")


def _proxy() -> dict[str, str]:
    address = f"http://127.0.0.1:{PROXY_PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    return {name: address for name in names} | {"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
