"""Programs that run another program, which stands among their arguments."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workspaces.shell.words import UNKNOWN, Word


@dataclass(frozen=True)
class Text:
    """Shell code in an argument; `arguments` are its `$0`, `$1` …; `is_here`: it runs in the shell itself."""

    code: Word
    arguments: tuple[Word, ...] = ()
    is_here: bool = False


Inner = tuple[Word, ...] | Text
Words = Sequence[Word]


@dataclass(frozen=True)
class Wrapper:
    """How a program's own arguments end.

    `short`, `long`: options that take a value; `skip`: operands before the command; `stops`: options with which it
    runs nothing.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    stops: str = ""


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash"})

WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper("uCS", frozenset({"unset", "chdir", "split-string"}), assigns=True),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "nice": Wrapper("n", frozenset({"adjustment"})),
    "ionice": Wrapper("cnpPu", frozenset({"class", "classdata", "pid", "pgid", "uid"})),
    "chrt": Wrapper("TPD", skip=1),
    "taskset": Wrapper(skip=1),
    "timeout": Wrapper("ks", frozenset({"kill-after", "signal"}), skip=1),
    "stdbuf": Wrapper("ioe", frozenset({"input", "output", "error"})),
    "time": Wrapper("of", frozenset({"output", "format"})),
    "command": Wrapper(stops="vV"),
    "builtin": Wrapper(),
    "coproc": Wrapper(),
    "exec": Wrapper("a"),
    "sudo": Wrapper(
        "ugpCDhrtTRU", frozenset({"user", "group", "prompt", "chdir", "host", "role", "type"}), assigns=True
    ),
    "doas": Wrapper("uC"),
    "pkexec": Wrapper("", frozenset({"user"})),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chroot": Wrapper("", frozenset({"userspec", "groups"}), skip=1),
    "unshare": Wrapper("SGwR", frozenset({"setuid", "setgid", "wd", "root"})),
    "nsenter": Wrapper("tSGwr", frozenset({"target", "setuid", "setgid", "wd", "root"})),
    "setpriv": Wrapper("", frozenset({"reuid", "regid", "groups", "bounding-set", "inh-caps", "ambient-caps"})),
    "prlimit": Wrapper("p", frozenset({"pid"})),
    "unbuffer": Wrapper(),
    "catchsegv": Wrapper(),
    "strace": Wrapper("aeEoOpPsSuUX", frozenset({"output", "attach", "trace"})),
    "ltrace": Wrapper("aAeFlnopsuwx"),
    "xvfb-run": Wrapper("efnpsw"),
    "fakeroot": Wrapper("lsi"),
    "dbus-run-session": Wrapper(),
    "dbus-launch": Wrapper(),
    "ssh-agent": Wrapper("aEPt"),
    "valgrind": Wrapper(),
    "chronic": Wrapper(),
    "faketime": Wrapper("f", skip=1),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "parallel": Wrapper("jINnLa", frozenset({"jobs", "arg-file", "delay", "timeout"})),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
}

RUNNERS: dict[str, frozenset[str]] = {
    "uv": frozenset({"run"}),
    "poetry": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pdm": frozenset({"run"}),
    "hatch": frozenset({"run"}),
    "rye": frozenset({"run"}),
    "bundle": frozenset({"exec"}),
}
"""Programs whose sub-command runs a program."""

_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_SHELL_VALUES = "oO"
_ENV_SPLITS = re.compile(r"-[i0v]*S|--split-string(?:=|\Z)")
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def inner_of(words: Words, name: str, given: str | None, fed_by: frozenset[int]) -> list[Inner]:
    """Return what a command runs in turn; `given` is its input where the source says it, `fed_by` who prints it."""
    if name in SHELLS:
        return _shell(words)
    if special := _SPECIAL.get(name):
        return special(words)
    if name == "xargs":
        return _xargs(words, given, fed_by)
    if wrapper := WRAPPERS.get(name):
        rest = _after_options(words[1:], wrapper)
        return [tuple(rest)] if rest else []
    if (subcommands := RUNNERS.get(name)) and len(words) > 2 and words[1].guess in subcommands:
        rest = _after_options(words[2:], Wrapper())
        return [tuple(rest)] if rest else []
    return []


def reads_code(words: Words) -> bool:
    """Return whether a shell of these words takes its commands from its input."""
    code, operands = _shell_operands(words)
    if code is not None:
        return False
    takes_all = any(re.fullmatch(r"-[a-zA-Z]*s[a-zA-Z]*", word.text) for word in words[1 : len(words) - len(operands)])
    return takes_all or not operands or operands[0].text in _STDIN


def operands_of(words: Words) -> tuple[str, ...]:
    """Return the arguments of the code that a shell of these words reads: `$1`, `$2` …"""
    return tuple(word.text for word in _shell_operands(words)[1] if word.text not in _STDIN)


def code_of(words: Words) -> Word | None:
    """Return the argument that a shell runs: the code of `-c`, or the name of a script."""
    code, operands = _shell_operands(words)
    return code if code is not None else next(iter(operands), None)


def _after_options(words: Words, wrapper: Wrapper) -> Words:
    """Return the words from the command on; none where an option says that nothing is run."""
    at, skip = 0, wrapper.skip
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            return words[at + skip :]
        if len(text) > 1 and text[0] == "-":
            if wrapper.stops and text[1] != "-" and set(text[1:]) & set(wrapper.stops):
                return ()
            at += 1 + _takes_next(text, wrapper)
        elif wrapper.assigns and _is_assignment(words[at].text):
            at += 1
        elif skip:
            skip, at = skip - 1, at + 1
        else:
            return words[at:]
    return ()


def _takes_next(option: str, wrapper: Wrapper) -> bool:
    if option.startswith("--"):
        return option[2:] in wrapper.long
    return next((at == len(option) - 1 for at, letter in enumerate(option) if at and letter in wrapper.short), False)


def _is_assignment(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.isidentifier()


# --- shells --------------------------------------------------------------------------------------


def _shell_operands(words: Words) -> tuple[Word | None, Words]:
    """Return the code of `-c`, if any, and the operands (after the code, those of the code)."""
    at, wants_code = 1, False
    while at < len(words):
        text = words[at].text
        if text in ("--", "-") and wants_code:
            at += 1
            break
        if text[:1] not in "-+" or len(text) < 2 or text == "--":
            at += text == "--"
            break
        if text[0] == "-" and not text.startswith("--"):
            wants_code |= "c" in text
        at += 1
        if text in ("--rcfile", "--init-file") or (not text.startswith("--") and set(text[1:]) & set(_SHELL_VALUES)):
            at += 1
    operands = words[at:]
    return (operands[0], operands[1:]) if wants_code and operands else (None, operands)


def _shell(words: Words) -> list[Inner]:
    code, operands = _shell_operands(words)
    return [Text(code, tuple(operands))] if code is not None else []


def _eval(words: Words) -> list[Inner]:
    rest = [word for number, word in enumerate(words[1:]) if number or word.text != "--"]
    fed_by = frozenset(index for word in rest for index in word.fed_by)
    return [Text(Word(" ".join(word.text for word in rest), fed_by=fed_by), is_here=True)] if rest else []


def _trap(words: Words) -> list[Inner]:
    rest = [word for word in words[1:] if word.text != "--"]
    return [Text(rest[0], is_here=True)] if len(rest) > 1 and not rest[0].text.startswith("-") else []


# --- programs with a way of their own ------------------------------------------------------------


def _env(words: Words) -> list[Inner]:
    """`env -S 'a b'` splits its argument into words, and takes options of its own from it."""
    for at, word in enumerate(words[1:], 1):
        if word.text == "--" or not (word.text.startswith("-") or _is_assignment(word.text)):
            break
        if split := _ENV_SPLITS.match(word.text):
            head = [word.text[split.end() :]] if split.end() < len(word.text) else []
            code = " ".join(["env", *head, *(part.text for part in words[at + 1 :])])
            return [Text(Word(code, fed_by=word.fed_by))]
    rest_words = _after_options([word for at, word in enumerate(words) if at and word.text != "-"], WRAPPERS["env"])
    return [tuple(rest_words)] if rest_words else []


def _xargs(words: Words, given: str | None, fed_by: frozenset[int]) -> list[Inner]:
    wrapper = Wrapper(
        "IEdnPsLa", frozenset({"replace", "max-args", "max-procs", "max-chars", "max-lines", "arg-file", "delimiter"})
    )
    rest = _after_options(words[1:], wrapper)
    if not rest:
        return []
    items = [Word(text) for text in given.replace("\0", "\n").split()] if given and UNKNOWN not in given else []
    if token := _replaced([word.text for word in words[1 : len(words) - len(rest)]]):
        into = " ".join(item.text for item in items[:1]) or UNKNOWN
        return [tuple(_with(word, token, into, fed_by) for word in rest)]
    return [(*rest, *(items[:200] or [Word(UNKNOWN, splits=True, fed_by=fed_by)]))]


def _with(word: Word, token: str, into: str, fed_by: frozenset[int]) -> Word:
    """Return the word with a text in the place of a token; what it feeds on comes along."""
    if token not in word.text:
        return word
    return Word(word.text.replace(token, into), word.globs, word.splits, word.fed_by | fed_by)


def _replaced(options: list[str]) -> str:
    """Return the text that `-I` replaces, "" where there is none."""
    for at, option in enumerate(options):
        if option == "-I" and at + 1 < len(options):
            return options[at + 1]
        if option.startswith("-I"):
            return option[2:]
        if option in ("-i", "--replace"):
            return "{}"
    return ""


def _find(words: Words) -> list[Inner]:
    found: list[Inner] = []
    at = 1
    while at < len(words):
        if words[at].text in _FIND_ACTIONS:
            end = next((e for e in range(at + 1, len(words)) if words[e].text in (";", "+")), len(words))
            found.append(_with_unknown_file(words[at + 1 : end]))
            at = end
        at += 1
    return [inner for inner in found if inner]


def _fd(words: Words) -> list[Inner]:
    for at, word in enumerate(words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            return [_with_unknown_file(words[at + 1 :])]
    return []


def _with_unknown_file(words: Words) -> tuple[Word, ...]:
    return tuple(_with(word, "{}", UNKNOWN, frozenset()) for word in words)


def _flock(words: Words) -> list[Inner]:
    if code := next((at for at, word in enumerate(words[:-1]) if word.text in ("-c", "--command")), 0):
        return [Text(words[code + 1])]
    rest = _after_options(words[1:], Wrapper("wE", frozenset({"timeout", "wait", "conflict-exit-code"}), skip=1))
    return [tuple(rest)] if rest else []


def _option_code(letter: str) -> Callable[[Words], list[Inner]]:
    """Return a reader of programs whose option `-<letter>`, or --command, takes shell code."""

    def read(words: Words) -> list[Inner]:
        for at, word in enumerate(words[1:], 1):
            if word.text.startswith("--command="):
                return [Text(Word(word.text.removeprefix("--command="), fed_by=word.fed_by))]
            is_short = re.fullmatch(rf"-[A-Za-z]*{letter}", word.text) is not None
            if (is_short or word.text == "--command") and at + 1 < len(words):
                return [Text(words[at + 1])]
        return []

    return read


def _watch(words: Words) -> list[Inner]:
    rest = _after_options(words[1:], Wrapper("nq", frozenset({"interval"})))
    return [Text(Word(" ".join(word.text for word in rest)))] if rest else []


def _git(words: Words) -> list[Inner]:
    """What git runs in a shell: aliases set on the spot, and the sub-commands that are there for it."""
    texts = [word.text for word in words]
    found: list[Inner] = [
        Text(Word(text.partition("=!")[2]))
        for before, text in pairwise(texts)
        if before == "-c" and re.match(r"alias\.[^=]*=!", text)
    ]
    match texts[1:]:
        case ["submodule", "foreach", *rest] if rest:
            found.append(Text(Word(" ".join(text for text in rest if text != "--recursive"))))
        case ["bisect", "run", *rest] if rest:
            found.append(tuple(words[3:]))
        case ["rebase", *_]:
            found += [Text(words[at + 1]) for at, text in enumerate(texts[:-1]) if text in ("-x", "--exec")]
            found += [Text(Word(text.removeprefix("--exec="))) for text in texts if text.startswith("--exec=")]
        case ["config", *_]:
            found += [
                Text(Word(text[1:])) for before, text in pairwise(texts) if text[:1] == "!" and before[:6] == "alias."
            ]
    return found


_SPECIAL: dict[str, Callable[[Words], list[Inner]]] = {
    "eval": _eval,
    "trap": _trap,
    "env": _env,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "flock": _flock,
    "script": _option_code("c"),
    "su": _option_code("c"),
    "runuser": _option_code("c"),
    "sg": _option_code("c"),
    "capsh": _option_code("c"),
    "watch": _watch,
    "git": _git,
}
