"""Commands: no disguise hides a refused one, no line stalls the reading, and what "only reads" changes nothing."""

import re
import shlex
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from agents import blocklist, narrowing
from agents.tools.base import ToolError
from tests.agents.dangerous_commands import DISGUISED
from tests.soak.holding import hold
from workspaces.sandbox import Ending, Limits, Place, own, probe, run_command, worker_uid
from workspaces.shell import is_read_only, parse
from workspaces.shell.harmless import PROGRAMS

LONG_S = 5.0
"""Processor time for one line, which takes some milliseconds."""
Wrap = Callable[[str], str]


def quoted(code: str) -> str:
    return shlex.quote(code)


WRAPS: list[Wrap] = [
    lambda code: f"sh -c {quoted(code)}",
    lambda code: f"bash -ec {quoted(code)} -- a b",
    lambda code: f"eval {quoted(code)}",
    lambda code: f"( {code}\n)",
    lambda code: f"{{ {code}\n}}",
    lambda code: f"if true; then {code}\nfi",
    lambda code: f"while {code}\ndo break; done",
    lambda code: f"for x in 1 2; do {code}\ndone",
    lambda code: f"case x in *) {code}\n;; esac",
    lambda code: f'echo "a $( {code}\n) b"',
    lambda code: f"cat <( {code}\n)",
    lambda code: f"true && {code}",
    lambda code: f"ls | grep x; {code}",
    lambda code: f'X={quoted(code)}; eval "$X"',
    lambda code: f"f() {{ {code}\n}}; f",
    lambda code: f"timeout 5 env A=1 nice -n 5 bash -c {quoted(code)}",
    lambda code: f"nohup setsid sh -c {quoted(code)} &",
    lambda code: f"xargs -I{{}} sh -c {quoted(code)} < list",
    lambda code: f"find . -name x -exec sh -c {quoted(code)} \\;",
    lambda code: f"trap {quoted(code)} EXIT",
    lambda code: f"echo {quoted(code)} | bash",
    lambda code: f"bash <<< {quoted(code)}",
    lambda code: f"git -c {quoted(f'alias.x=!{code}')} x" if "\n" not in code else f"sh -c {quoted(code)}",
    lambda code: f"! {code}",
    lambda code: f"time {{ {code}\n}}",
    lambda code: f"until {code}\ndo break; done",
    lambda code: f"if ls; then :; else {code}\nfi",
    lambda code: f"for x in 1; {{ {code}\n}}",
    lambda code: f"(({code}\n) )",
    lambda code: f"{{ ls\n\t{code}\n}} > out",
    lambda code: f"a#b; {code}",
    lambda code: f"# a remark\n{code}\n# another",
    lambda code: f"VAR=$(date) ; {code}",
    lambda code: f"bash <<'STOP'\n{code}\nSTOP\n" if "STOP" not in code else f"eval {quoted(code)}",
]
QUOTES: list[Wrap] = [
    lambda word: word,
    lambda word: f"'{word}'",
    lambda word: f'"{word}"',
    lambda word: f"$'{word}'",
    lambda word: word[:1] + "''" + word[1:],
    lambda word: "\\" + word if word[:1].isalpha() else word,
    lambda word: word[:2] + '"' + word[2:] + '"',
    lambda word: "".join(f"$'\\x{ord(letter):02x}'" for letter in word),
    lambda word: word[:2] + "\\\n" + word[2:],
    lambda word: f'$"{word}"',
    lambda word: word[:2] + "$(true)" + word[2:] if word[:1].isalpha() else word,
    lambda word: word[:1] + "${nothing-}" + word[1:] if word[:1].isalpha() else word,
]
PLAIN = {
    "sudo": ["sudo", "ls"],
    "git push": ["git", "push", "origin"],
    "rm -r / ~ ..": ["rm", "-rf", "/"],
    "pkill": ["pkill", "node"],
    "docker": ["docker", "ps"],
    "systemctl": ["systemctl", "stop", "x"],
}


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """Return a rule and a command that it refuses, its words quoted and the whole wrapped in any way."""
    rule = draw(st.sampled_from([*PLAIN, *PLAIN, *(rule for rule in DISGUISED if rule != ":(){ :|:& };:")]))
    if rule in PLAIN and draw(st.booleans()):
        code = " ".join(draw(st.sampled_from(QUOTES))(word) for word in PLAIN[rule])
    else:
        code = draw(st.sampled_from([each for each in DISGUISED[rule] if is_one_command(each)]))
    for wrap in draw(st.lists(st.sampled_from(WRAPS), max_size=4)):
        code = wrap(code)
    return rule, code


def is_one_command(code: str) -> bool:
    """Leave out what a wrapping would change the meaning of: open ends, here-documents, what depends on its folder."""
    return not re.search(r"<<|\n|&$|#|^[;\s]|^(?:f|function|alias|set|local|return|exit|break)\b|\bcd\b|pushd", code)


def test_no_disguise_hides_a_refused_command() -> None:
    def check(found: tuple[str, str]) -> None:
        rule, code = found
        assert blocklist.hit(code, ()) is not None, rule
        assert not is_read_only(code)

    hold(check, disguised(), few=120)


def test_a_skill_that_allows_git_status_allows_nothing_hidden_beside_it() -> None:
    loaded = [narrowing.Loaded("looking", ("run_command",), ("git status *", "ls *"))]
    narrowing.hold_command("git status --short && ls -la", loaded)

    def check(found: tuple[str, str], before: bool) -> None:
        code = f"{found[1]}\nls" if before else f"ls; {found[1]}"
        with pytest.raises(ToolError):
            narrowing.hold_command(code, loaded)

    hold(check, disguised(), st.booleans(), few=60)


PIECES = (
    "$(", ")", "`", "${", "}", "<(", "((", "))", "[[", "]]", "{", "}", "{a,b}", "(", "$'", "'", '"', "\\", "\n", ";",
    "&&", "||", "|", "&", "<", ">", ">>", "<<E", "<<-'E'", "\nE\n", "<<<", "2>&1", "#", "!", "*", "?", "~", "=", "if",
    "then", "fi", "do", "done", "case", "in", "esac", ";;", "for", "while", "function", "f()", "coproc", "time", "ls",
    "git", "sudo", "echo", "eval", "a", "x=1", "$x", "${x:-y}", "${x/a/b}", "$((1+1))", "-c", " ", " ", "\t", "é",
)  # fmt: skip
SHELLISH = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def test_no_line_breaks_or_stalls_the_reading() -> None:
    def check(line: str) -> None:
        began = time.thread_time()
        parse(line)
        blocklist.hit(line, ("git push *",))
        assert is_read_only(line) in (True, False)
        assert time.thread_time() - began < LONG_S

    hold(check, SHELLISH | SHELLISH.map(lambda line: line * 30) | st.text(max_size=300), few=60)


# --- what "only reads" really does ---------------------------------------------------------------

ARGUMENTS = (
    "a.txt", "folder", "folder/b.txt", ".", "none", "out", "out2", "-", "--", "/tmp/x", "*", "*.txt", "$X", "~",
    "link", "-n", "-r", "-i", "-o", "-w", "-e", "-f", "-s", "-c", "-C", "-d", "-p", "-t", "-u", "-z", "-E", "-l",
    "-a", "-v", "-x", "-oout", "-o out", "--output=out", "--output", "-i.bak", "--in-place", "-delete", "-exec",
    "-execdir", "touch", "{}", "\\;", "-fprint", "-fls", "-name", "-type", "f", "+", "';'", "-print", "1p", "p",
    "'1w out'", "'s/a/b/w out'", "'1e touch out'", "'s/x/touch out/e'", "'{print > \"out\"}'",
    "'{system(\"touch out\")}'", "'BEGIN{print 1}'", "'{print}'", "--files", "x=1", "'@load \"x\"'", "status", "log",
    "diff", "show", "branch", "new", "tag", "--ext-diff", "-D", "main", "stash", "list", "--output-indicator-new=x",
    "config", "a.b", "c", "remote", "add", "worktree", "grep", "-O", "-Otouch", "ls-files", "fetch", "checkout",
    "HEAD", "HEAD~1", "reflog", "expire", "--no-index", "rev-parse", "archive", "--git-dir=folder", "--pre=touch",
    "--pre", "'touch out'", "--hostname-bin=touch", "--version", "-V", "install", "sort", "uniq", "--help",
    "--compress-program=touch", "-T", "folder", "--files0-from=a.txt", "-m", "10", "2", "a", "b", "-R", "-P", "-k1",
    "--set",
)  # fmt: skip
JOINS = st.sampled_from([" | ", " && ", "; ", " || ", "\n", " |& "])
REDIRECTS = st.sampled_from(
    ["", "", "", "", " > out", " >> a.txt", " 2>/dev/null", " &> out", " < a.txt", " >| a.txt", " 1<>new"]
)
ASSIGNED = st.sampled_from(
    ["", "", "", "", "X=out ", "LC_ALL=C ", "GIT_EXTERNAL_DIFF='touch out' ", "PAGER='touch out' "]
)
BEFORE = st.sampled_from(
    ["", "", "", "", "timeout 1 ", "env ", "command ", "nice ", "! ", "time ", "xargs ", "exec ", "cd folder; "]
)
HARMLESS = [name for name in PROGRAMS if name not in ("sleep", "tail", "tty", "exit", "read", "ps", "man")]
PART = st.tuples(
    BEFORE,
    ASSIGNED,
    st.sampled_from(HARMLESS),
    st.lists(st.sampled_from(ARGUMENTS), max_size=5).map(" ".join),
    REDIRECTS,
).map(lambda parts: f"{parts[0]}{parts[1]}{parts[2]} {parts[3]}{parts[4]}")
LINES = st.tuples(PART, JOINS, PART, st.booleans()).map(lambda p: p[0] + p[1] + p[2] if p[3] else p[0])


def look(tree: Path) -> list[tuple[str, int, bytes]]:
    """Return all there is in a tree, but for what git refreshes by itself."""
    paths = [path for path in sorted(tree.rglob("*")) if path.name != "index"]
    return [(str(path), path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a scratch tree with a git repository, as a command finds it."""
    if probe().level != "full":
        pytest.skip(f"no sandbox here: {probe().reasons}")
    for name in ("tree/folder", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tree/a.txt").write_text("b a\na b\n" * 3)
    (tmp_path / "tree/folder/b.txt").write_text("x\n")
    (tmp_path / "tree/link").symlink_to("a.txt")
    place = Place(tmp_path / "tree", tmp_path / "home", uid=worker_uid(11))
    for path in (place.tree, place.home, *place.tree.rglob("*")):
        own(path, place.uid)
    made = run("git init -q -b main . && git add . && git commit -qm one && git commit -q --allow-empty -m two", place)
    assert made == (Ending.EXIT, 0)
    return place


def run(script: str, place: Place) -> tuple[Ending, int | None]:
    spool = place.tree.parent / "spool"
    outcome = run_command(
        script,
        place,
        Limits(timeout_s=120),
        spool=spool,
        on_bytes=lambda data: None,
        cancelled=threading.Event(),
        on_start=lambda pid, started: None,
    )
    return outcome.ending, outcome.exit_code


def test_what_only_reads_changes_nothing_when_bash_runs_it(place: Place) -> None:
    before = look(place.tree)
    ran: list[str] = []

    def check(lines: list[str]) -> None:
        reading = [line for line in lines if is_read_only(line)]
        if not reading:
            return
        ran.extend(reading)
        script = "\n".join(f"timeout -k 1 5 bash -c {shlex.quote(line)} </dev/null >/dev/null 2>&1" for line in reading)
        assert run(f"{script}\ntrue", place)[0] is Ending.EXIT
        assert look(place.tree) == before, reading

    hold(check, st.lists(LINES, min_size=20, max_size=60), few=8)
    assert len(ran) > 20
