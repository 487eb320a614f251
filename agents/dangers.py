"""The default blocklist: commands that no task needs and that harm a machine, a person's settings, or a remote.

Each looks at a parsed command (workspaces.shell), so that spelling, quoting and wrapping make no difference.
"""

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agents import downloads, git_commands
from workspaces.sandbox.environment import HOME, TREE
from workspaces.shell import Command, Script, Word
from workspaces.shell.scope import within

NOT_HERE = "an agent has no such rights here. Go on without it, and say so in your summary."
"""What is said where there is no other way."""


@dataclass(frozen=True)
class Danger:
    """A default rule: its name, what to do instead, and whether a script fits it."""

    rule: str
    instead: str
    hits: Callable[[Script], bool]


# --- places --------------------------------------------------------------------------------------

_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "sys", "usr", "var"}
)
"""Folders of the root whose own folders count too."""
_FREE = frozenset({"/dev/shm", TREE})  # noqa: S108
_HOME_CACHES = frozenset({".cache", ".npm", ".cargo", ".gradle", ".m2", ".yarn", ".nuget", "go"})
_HARMLESS_DEVICES = re.compile(r"/dev/(?:null|zero|full|random|urandom|tty|ptmx|std(?:in|out|err)|fd(?:/.*)?|shm/.*)\Z")


def place_of(word: Word, command: Command) -> str | None:
    """Return the plain absolute path that a word names; None where it is unknown."""
    if not word.is_known or not word.text:
        return None
    path = within(command.folder, word.text)
    return path if path is not None else (".." if _only_up(word.text) else None)


def _only_up(path: str) -> bool:
    return all(part in ("..", ".", "", "*") for part in path.split("/")) and ".." in path


def is_vital(path: str | None) -> bool:
    """Return whether a path is the root, the home, what is above, or what stands at the top of them."""
    if path is None:
        return False
    if path in ("/", "..", "../*") or path.startswith("../"):
        return True
    parts = path.strip("/").split("/")
    if path == HOME or posixpath.dirname(path) == HOME:
        return parts[-1] not in _HOME_CACHES
    if path in _FREE - {TREE} or path.startswith(f"{TREE}/"):
        return False
    if len(parts) == 1:
        return True
    in_system = parts[0] in _SYSTEM or (_magic(parts[0]) and any(fnmatchcase(name, parts[0]) for name in _SYSTEM))
    return len(parts) == 2 and (in_system or parts[0] == "home" or _magic(parts[0]))


def _magic(text: str) -> bool:
    return bool(re.search(r"[*?\[]", text))


def is_system(path: str | None) -> bool:
    """Return whether a path is the root or a folder of the system: the home, the tree and /tmp are none."""
    return is_vital(path) and path not in (TREE, HOME, "/tmp") and not str(path).startswith((f"{HOME}/", "/tmp"))  # noqa: S108


def is_device(text: str) -> bool:
    return text.startswith("/dev/") and not _HARMLESS_DEVICES.match(text)


# --- words ---------------------------------------------------------------------------------------


def operands(words: Iterable[Word]) -> list[Word]:
    """Return the words that are no options; after `--` all of them."""
    found: list[Word] = []
    only_operands = False
    for word in words:
        if word.text == "--" and not only_operands:
            only_operands = True
        elif only_operands or not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return found


def has_option(command: Command, letters: str, *names: str) -> bool:
    """Return whether one of the options is among the arguments: letters alone or bundled, names also cut short."""
    for word in command.arguments:
        text = word.guess
        if text == "--":
            return False
        if re.match(r"-[A-Za-z]", text) and set(text[1:]) & set(letters):
            return True
        if len(text) > 4 and text.startswith("--") and any(name.startswith(text[2:]) for name in names):
            return True
    return False


def _runs(*names: str) -> Callable[[Script], bool]:
    wanted = frozenset(names)
    return lambda script: any(_is_one_of(command, wanted) for command in script.commands)


def _is_one_of(command: Command, wanted: frozenset[str]) -> bool:
    """Return whether it is such a program of the system's; a pattern, as in `/bin/su*`, may stand for one."""
    if _is_of_tree(command):
        return False
    name = command.name
    is_pattern = bool(command.words) and command.words[0].globs and command.words[0].text.startswith("/")
    return name in wanted or (is_pattern and any(fnmatchcase(each, name) for each in wanted))


def _is_of_tree(command: Command) -> bool:
    """Return whether the program is a file of the workspace, such as `./service`: what it is called says nothing."""
    text = command.words[0].text if command.words else ""
    if "/" not in text or not command.words[0].is_known:
        return False
    path = within(command.folder, text)
    return path.startswith(f"{TREE}/") if path is not None else ".." not in text


def _any(check: Callable[[Command], bool], *names: str) -> Callable[[Script], bool]:
    """Return a check of scripts: some command of these names fits."""
    return lambda script: any(
        fits_name(command.name, names) and not _is_of_tree(command) and check(command) for command in script.commands
    )


def fits_name(name: str, names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, wanted) for wanted in names)


# --- deleting ------------------------------------------------------------------------------------


def _removes_vital(command: Command) -> bool:
    if any(word.text.startswith("--no-pres") for word in command.arguments):
        return True
    if not has_option(command, "rR", "recursive"):
        return False
    return any(is_vital(place_of(word, command)) for word in operands(command.arguments))


def _finds_and_deletes(script: Script) -> bool:
    removers = {"rm", "unlink", "shred", "rmdir"}
    for command in script.commands:
        if command.name != "find" or not any(is_system_or_home(path) for path in _roots(command)):
            continue
        texts = [word.text for word in command.arguments]
        runs = {text.rpartition("/")[2] for text in texts}
        if "-delete" in texts or (removers & runs and any(text.startswith(("-exec", "-ok")) for text in texts)):
            return True
    return any(
        command.name == "rm" and "xargs" in command.via and _fed_by_root(command, script) for command in script.commands
    )


def is_system_or_home(path: str | None) -> bool:
    return is_system(path) or path == HOME


def _roots(command: Command) -> list[str | None]:
    """Return where a `find` begins."""
    words = command.arguments
    start = 0
    while start < len(words) and words[start].text in ("-H", "-L", "-P"):
        start += 1
    roots: list[str | None] = []
    for word in words[start:]:
        if word.text[:1] in ("-", "(", "!"):
            break
        roots.append(place_of(word, command))
    return roots or [command.folder]


def _fed_by_root(command: Command, script: Script) -> bool:
    feeders = [script.commands[index] for index in command.fed_by if index < len(script.commands)]
    return any(
        is_system_or_home(path)
        for feeder in feeders
        if feeder.name == "find" or (feeder.name in ("ls", "echo") and has_option(command, "rR", "recursive"))
        for path in (
            _roots(feeder) if feeder.name == "find" else [place_of(word, feeder) for word in operands(feeder.arguments)]
        )
    )


# --- devices, modes, processes -------------------------------------------------------------------


def _copies_device(command: Command) -> bool:
    values = [word.text.partition("=") for word in command.arguments]
    return any(key in ("of", "if") and is_device(value) for key, _, value in values)


def _names_device(command: Command) -> bool:
    return any(is_device(word.text) for word in command.arguments)


def _mounts(command: Command) -> bool:
    return bool(operands(command.arguments)) or has_option(command, "aBM", "all", "bind", "move")


def _writes_device(script: Script) -> bool:
    for command in script.commands:
        targets = [each.target.text for each in command.redirects if each.target and ">" in each.operator]
        if command.name == "tee":
            targets += [word.text for word in operands(command.arguments)]
        if command.name in ("cp", "mv", "install", "truncate"):
            targets += [word.text for word in operands(command.arguments)[-1:]]
        if any(is_device(text) for text in targets):
            return True
    return False


def _changes_system(command: Command) -> bool:
    if not has_option(command, "R", "recursive"):
        return False
    return any(is_system(place_of(word, command)) for word in operands(command.arguments))


def _kills_all(command: Command) -> bool:
    words = [word.text for word in command.arguments]
    if len(words) > 1 and words[0] in ("-s", "-n", "--signal"):
        words = words[2:]
    elif len(words) > 1 and words[0] != "--" and words[0].startswith("-"):
        words = words[1:]
    return "-1" in words


def _changes_runlevel(command: Command) -> bool:
    return any(word.text in ("0", "6") for word in command.arguments)


# --- fork bombs ----------------------------------------------------------------------------------


def _bombs(script: Script) -> bool:
    """Return whether a function calls itself twice at once: in a pipe with itself, or in the background."""
    for command in script.commands:
        if command.name not in command.inside:
            continue
        fellows = (script.commands[index] for index in command.fed_by if index < len(script.commands))
        if command.is_background or any(command.name == fellow.name and fellow.inside for fellow in fellows):
            return True
    return False


ALL: tuple[Danger, ...] = (
    Danger(
        "sudo",
        "commands run without more rights than you have. Leave it out; what needs a package belongs in the set-up.",
        _runs("sudo", "doas", "pkexec", "sudoedit", "run0"),
    ),
    Danger("su", NOT_HERE, _runs("su", "runuser", "gosu", "su-exec")),
    Danger(
        "rm -r / ~ ..",
        "it deletes what is not yours. Name the folder inside the workspace that you mean.",
        _any(_removes_vital, "rm"),
    ),
    Danger(
        "find / -delete", "it deletes what is not yours. Start at a folder inside the workspace.", _finds_and_deletes
    ),
    Danger("dd of=/dev/*", "devices are out of reach. Write to a file in the workspace.", _any(_copies_device, "dd")),
    Danger(
        "mkfs /dev/*",
        NOT_HERE,
        _any(
            _names_device, "mkfs", "mkfs.*", "mke2fs", "mkswap", "wipefs", "blkdiscard", "shred", "badblocks", "hdparm"
        ),
    ),
    Danger(
        "fdisk /dev/*",
        NOT_HERE,
        _any(_names_device, "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "losetup", "cryptsetup"),
    ),
    Danger("mount", NOT_HERE, _any(_mounts, "mount", "umount", "swapon", "swapoff")),
    Danger("> /dev/*", "devices are out of reach. Write to a file in the workspace.", _writes_device),
    Danger(
        "chmod -R /",
        "modes of the system are not yours to change. Name the folder inside the workspace.",
        _any(_changes_system, "chmod", "chown", "chgrp"),
    ),
    Danger("shutdown", NOT_HERE, _runs("shutdown", "reboot", "halt", "poweroff")),
    Danger("init 0", NOT_HERE, _any(_changes_runlevel, "init", "telinit")),
    Danger(
        "kill -1",
        "it ends everything, the sandbox too. Name the process: kill %1, or kill $pid.",
        _any(_kills_all, "kill"),
    ),
    Danger(
        "pkill",
        "it hits by name. Name the process: kill %1, or kill $pid; stop_command ends a background command.",
        _runs("pkill", "killall", "killall5"),
    ),
    Danger("systemctl", NOT_HERE, _runs("systemctl", "service", "systemd-run", "loginctl", "initctl", "rc-service")),
    Danger(
        "crontab",
        "nothing may outlast the run. Run it now, or describe it in your summary.",
        _runs("crontab", "at", "batch"),
    ),
    Danger(
        "docker",
        "there is no container engine here. Run the parts directly, and say in your summary what needs it.",
        _runs("docker", "podman", "kubectl"),
    ),
    Danger(
        "git push",
        "your work is taken from the workspace and pushed by people. Leave it as it is.",
        git_commands.push,
    ),
    Danger(
        "git config --global",
        "settings of a user or a machine are not part of the work. Use `git -c name=value`, or the repository's own.",
        _any(git_commands.configures, "git", "git-config"),
    ),
    Danger(
        "curl | sh",
        "nobody has read what it would run. Download it to a file, read it, then run it.",
        downloads.are_run,
    ),
    Danger(
        "base64 -d | sh", "nobody has read what it would run. Write the commands themselves.", downloads.decoded_are_run
    ),
    Danger(
        "commands nested too deep",
        "nobody can see what it runs at last. Leave out the shells and wrappers, or write a script file and run that.",
        lambda script: script.is_too_deep,
    ),
    Danger(":(){ :|:& };:", "it starts processes without end.", _bombs),
)
"""The default rules, in the order in which they are tried."""
