"""Programs that only read, each with the check of its options."""

import re
from collections.abc import Callable, Mapping

from workspaces.shell.git_reading import git_only_reads
from workspaces.shell.script import Command
from workspaces.shell.words import UNKNOWN, Word

Check = Callable[[Command], bool]

ANY = frozenset(
    {
        *(
            "ls",
            "cat",
            "head",
            "tail",
            "wc",
            "grep",
            "egrep",
            "fgrep",
            "zgrep",
            "zcat",
            "stat",
            "du",
            "df",
            "pwd",
            "echo",
        ),
        *("true", "false", ":", "test", "[", "[[", "whoami", "id", "groups", "uname", "arch", "nproc", "which", "type"),
        *(
            "basename",
            "dirname",
            "realpath",
            "readlink",
            "cut",
            "tr",
            "diff",
            "cmp",
            "comm",
            "nl",
            "tac",
            "rev",
            "fold",
        ),
        *(
            "column",
            "jq",
            "od",
            "hexdump",
            "strings",
            "seq",
            "expr",
            "expand",
            "unexpand",
            "fmt",
            "paste",
            "join",
            "cal",
        ),
        *("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "numfmt"),
        *("printenv", "ps", "free", "uptime", "locale", "getconf", "tty", "nm", "size", "readelf", "objdump", "base64"),
        *("cd", "pushd", "popd", "dirs", "sleep", "exit", "break", "continue", "shopt", "tsort", "zipinfo"),
    }
)
"""Programs that change nothing whatever their arguments."""

_VERSIONED = (
    *(
        "python",
        "python3",
        "pip",
        "pip3",
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "go",
        "cargo",
        "rustc",
        "rustup",
        "java",
    ),
    *("javac", "gcc", "g++", "clang", "cc", "make", "cmake", "ruby", "gem", "bundle", "php", "composer", "perl", "uv"),
    *("poetry", "pytest", "ruff", "mypy", "black", "tsc", "deno", "bun", "mvn", "gradle", "dotnet", "rg", "bash", "sh"),
)
_VERSION = frozenset({"--version", "-V", "-version", "version"})
_SHORT_VERSION = frozenset({"node", "npm", "yarn", "pnpm", "ruby", "php", "perl", "gem"})

_FIND_WRITES = frozenset({"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"})
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\])*/I?)"
_SED_COMMAND = re.compile(
    rf"\s*(?:{_SED_ADDRESS}\s*(?:,\s*(?:[+~]?\d+|{_SED_ADDRESS}))?)?\s*!?\s*"
    r"(?:[pPqQdDnNhHgGxl=]|s([^\w\s\\])(?:\\.|(?!\1).)*?\1(?:\\.|(?!\1).)*?\1[gpIiMm0-9]*)?\s*"
)
_AWK_ACTS = re.compile(r"[|@]|\b(?:system|getline)\b|\bprint.*>", re.DOTALL)
"""What makes awk run or write something; a `>` before the first `print` compares."""


# --- words ---------------------------------------------------------------------------------------


def _is_plain(word: Word) -> bool:
    """Return whether the word is known as far as it could be an option."""
    return word.is_known or not (word.splits or word.text.startswith(("-", UNKNOWN)))


def _without(letters: str = "", *names: str) -> Check:
    """Return a check: none of these options is given, bundled or cut short, and none may hide in what is unknown."""

    def check(command: Command) -> bool:
        return all(_is_plain(word) and not _is_one_of(word.text, letters, names) for word in command.arguments)

    return check


def _is_one_of(text: str, letters: str, names: tuple[str, ...]) -> bool:
    if text.startswith("--"):
        given = text[2:].partition("=")[0]
        return bool(given) and any(name.startswith(given) for name in names)
    return text.startswith("-") and bool(set(text[1:]) & set(letters))


def _operands(command: Command, values: str = "") -> list[str]:
    """Return the words that are no options; `values`: letters of options whose next word is their value."""
    found: list[str] = []
    words = iter(command.arguments)
    for word in words:
        if len(word.text) == 2 and word.text[0] == "-" and word.text[1] in values:
            next(words, None)
        elif not word.text.startswith("-") or word.text == "-":
            found.append(word.text)
    return found


def _all_plain(command: Command) -> bool:
    return all(_is_plain(word) for word in command.arguments)


# --- programs ------------------------------------------------------------------------------------


def _any(_: Command) -> bool:
    return True


def _printf(command: Command) -> bool:
    return bool(command.arguments) and not command.arguments[0].text.startswith(("-v", UNKNOWN))


def _date(command: Command) -> bool:
    plain = _without("s", "set")(command)
    return plain and all(word.startswith("+") for word in _operands(command, "dfrI"))


def _uniq(command: Command) -> bool:
    return _all_plain(command) and len(_operands(command, "fsw")) <= 1


def _xxd(command: Command) -> bool:
    return _without("r", "revert")(command) and len(_operands(command, "lscgo")) <= 1


def _find(command: Command) -> bool:
    """What `-exec` runs stands in the script too, and is looked at there."""
    return _all_plain(command) and not any(word.text in _FIND_WRITES for word in command.arguments)


def _rg(command: Command) -> bool:
    acts = ("--pre", "--hostname-bin")
    return all(_is_plain(word) and word.text.partition("=")[0] not in acts for word in command.arguments)


def _sed(command: Command) -> bool:
    words = command.arguments
    scripts: list[str] = []
    at = 0
    while at < len(words):
        text = words[at].text
        if not _is_plain(words[at]):
            return False
        if text in ("-e", "--expression") and at + 1 < len(words):
            scripts.append(words[at + 1].text)
            at += 1
        elif text.startswith("-") and text not in ("-", "--quiet", "--silent", "--regexp-extended"):
            if not re.fullmatch(r"-[nErsuz]+", text):
                return False
        elif not scripts:
            scripts.append(text)
        at += 1
    return bool(scripts) and all(_sed_only_prints(script) for script in scripts)


def _sed_only_prints(script: str) -> bool:
    """Return whether each command prints, skips, or puts text in the place of other, to no file and no program."""
    if UNKNOWN in script or len(script) > 2000:
        return False
    at = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if match is None or (match.end() < len(script) and script[match.end()] not in ";\n"):
            return False
        at = match.end() + 1
    return True


def _awk(command: Command) -> bool:
    operands = _operands(command, "Fv")
    options = [word.text for word in command.arguments if word.text.startswith("-") and word.text != "-"]
    if not _all_plain(command) or not operands or not all(re.match(r"-[Fv]", option) for option in options):
        return False
    program = operands[0].replace("||", "")
    return UNKNOWN not in program and not _AWK_ACTS.search(program)


def _set(command: Command) -> bool:
    return all(re.fullmatch(r"[-+][eufx]+|[-+][eux]*o|pipefail|errexit|nounset", w.text) for w in command.arguments)


def _read(command: Command) -> bool:
    return all(w.is_known and re.fullmatch(r"-r|-[adnpt]|-ra|[a-z_][a-z0-9_]*|\d+|", w.text) for w in command.arguments)


def _env(command: Command) -> bool:
    names = [word.text.partition("=")[0] for word in command.arguments if "=" in word.text]
    plain = [word.text for word in command.arguments[:1]]
    return not names and not any(text.startswith(("-S", "--split", UNKNOWN)) for text in plain)


def _time(command: Command) -> bool:
    return not any(word.text.startswith(("-o", "--output", "-a")) for word in command.arguments[:2])


def _shell(command: Command) -> bool:
    """`sh -c '…'`: what it runs stands in the script too."""
    words = command.arguments
    if not command.is_wrapper:
        return _is_version(command)
    return len(words) > 1 and bool(re.fullmatch(r"-[eulx]*c", words[0].text)) and words[1].is_known


def _command(command: Command) -> bool:
    return _all_plain(command)


def _is_version(command: Command) -> bool:
    words = [word.text for word in command.arguments]
    return len(words) == 1 and (words[0] in _VERSION or (words[0] == "-v" and command.name in _SHORT_VERSION))


def _pip(command: Command) -> bool:
    words = [word.text for word in command.arguments]
    return _is_version(command) or (_all_plain(command) and words[:1] in (["list"], ["show"], ["freeze"]))


PROGRAMS: Mapping[str, Check] = {
    **dict.fromkeys(_VERSIONED, _is_version),
    **dict.fromkeys(ANY, _any),
    **dict.fromkeys(("sh", "bash", "dash"), _shell),
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
    **dict.fromkeys(("pip", "pip3"), _pip),
    **dict.fromkeys(("timeout", "nice", "ionice", "stdbuf", "command", "builtin", "xargs"), _command),
    "git": git_only_reads,
    "printf": _printf,
    "date": _date,
    "uniq": _uniq,
    "xxd": _xxd,
    "find": _find,
    "fd": _command,
    "rg": _rg,
    "sed": _sed,
    "sort": _without("oT", "output", "compress-program", "temporary-directory"),
    "shuf": _without("o", "output"),
    "iconv": _without("o", "output"),
    "tree": _without("oR", "output"),
    "file": _without("C", "compile"),
    "hostname": lambda command: not command.arguments,
    "set": _set,
    "read": _read,
    "env": _env,
    "time": _time,
}
"""The check of each program; what is not here is not known to only read."""
