"""Parsing: every simple command is found, its words are what bash makes of them, and nothing runs away."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from workspaces.shell import UNKNOWN, Command, Script, parse
from workspaces.shell.syntax import COMMANDS_LIMIT
from workspaces.shell.work import BYTES_LIMIT


def lines(script: Script) -> list[str]:
    """Return the commands, each as its words joined."""
    return [" ".join(word.text for word in command.words) for command in script.commands]


def only(text: str) -> Command:
    [command] = parse(text).commands
    return command


@pytest.mark.parametrize(
    "text",
    [
        "x 1; hit 2",
        "x 1\nhit 2",
        "x 1 && hit 2",
        "x 1 || hit 2",
        "x 1 | hit 2",
        "x 1 |& hit 2",
        "x 1 & hit 2",
        "(hit 2)",
        "{ hit 2; }",
        "! hit 2",
        "time hit 2",
        "time -p hit 2",
        "if x; then y; else hit 2; fi",
        "if hit 2; then y; fi",
        "if x; then y; elif hit 2; then z; fi",
        "for a in b c; do hit 2; done",
        "for ((i=0;i<2;i++)); do hit 2; done",
        "while hit 2; do x; done",
        "until x; do hit 2; done",
        "select a in b; do hit 2; done",
        "case x in a|b) y;; *) hit 2;; esac",
        "f() { hit 2; }",
        "function f { hit 2; }",
        "f() (hit 2)",
        "x $(hit 2)",
        'x "a $(hit 2) b"',
        "x `hit 2`",
        'x "`hit 2`"',
        "x `a` `hit 2`'z'",
        "x $((1 + $(hit 2)))",
        "x ${y:-$(hit 2)}",
        "x <(hit 2)",
        "x > >(hit 2)",
        "x <<< $(hit 2)",
        "y=$(hit 2)",
        "export y=$(hit 2)",
        "y=(a $(hit 2))",
        '[ "$(hit 2)" = x ]',
        "[[ -n $(hit 2) ]]",
        "x <<E\na $(hit 2) `b`\nE",
        "x <<A <<B\n1\nA\n$(hit 2)\nB",
        "x <<A\n1\nA\nhit 2",
        "x <<'A' && hit 2\n$(no)\nA",
        ">out hit 2",
        "2>&1 hit 2 >out",
        "A=1 B='x y' hit 2",
        "# x\nhit 2 # y",
        "hit \\\n  2",
        "h\\\nit 2",
        "x; )hit 2",
        "if hit 2",
        "hit 2; if",
    ],
)
def test_a_command_is_found_wherever_it_stands(text: str) -> None:
    assert "hit 2" in lines(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "sh -c 'hit 2'",
        'bash -lc "hit 2"',
        "bash -e -o pipefail -c 'hit 2'",
        "/bin/sh -c 'hit 2'",
        "sh -c 'hit \"$1\"' name 2",
        "sh -c \"sh -c 'hit 2'\"",
        "eval hit 2",
        "eval 'hit 2'",
        "eval -- 'hit' 2",
        "bash <<E\nhit 2\nE",
        "bash <<-'E'\n\thit 2\n\tE",
        "bash -s <<E x\nhit 2\nE",
        "bash <<< 'hit 2'",
        "cat <<E | sh\nhit 2\nE",
        "echo 'hit 2' | sh",
        "printf '%s %d\\n' hit 2 | sh",
        "echo hit 2 | tee log | bash -",
        "source /dev/stdin <<< 'hit 2'",
        "env hit 2",
        "env -i A=1 -u B hit 2",
        "env -S 'hit 2'",
        "nohup hit 2 &",
        "timeout 5 hit 2",
        "timeout -k 3 --signal=KILL 5 hit 2",
        "nice -n 5 hit 2",
        "nice hit 2",
        "ionice -c2 -n 7 hit 2",
        "setsid -w hit 2",
        "stdbuf -oL hit 2",
        "command hit 2",
        "command -p hit 2",
        "builtin hit 2",
        "exec hit 2",
        "exec -a name hit 2",
        "sudo -u root hit 2",
        "busybox hit 2",
        "coproc hit 2",
        "flock lock hit 2",
        "flock lock -c 'hit 2'",
        "watch -n 1 hit 2",
        "uv run hit 2",
        "trap 'hit 2' EXIT",
        "find . -name x -exec hit 2 \\;",
        "find . -ok hit 2 + -print",
        "xargs hit 2",
        "echo 2 | xargs hit",
        "echo 2 | xargs -n1 -I{} hit {}",
        "git submodule foreach 'hit 2'",
        "git bisect run hit 2",
        "git rebase -x 'hit 2' main",
        "timeout 5 env A=1 nice sh -c 'hit 2'",
    ],
)
def test_a_command_is_found_behind_what_runs_it(text: str) -> None:
    assert any(line in ("hit 2", f"hit 2 {UNKNOWN}") for line in lines(parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "echo 'hit 2'",
        "echo hit 2",
        "# hit 2",
        "cat <<E\nhit 2\nE",
        "cat <<'E'\n$(hit 2)\nE",
        "echo '$(hit 2)'",
        "echo \\$(hit 2\\)",
        "command -v hit 2",
        "sh script.sh 'hit 2'",
        "python -c 'hit 2'",
        "git commit -m \"$(cat <<'E'\nhit 2\nE\n)\"",
        "x=1 # ; hit 2",
        "sh -c 'echo \"hit 2\"'",
    ],
)
def test_text_is_no_command(text: str) -> None:
    assert "hit 2" not in lines(parse(text))


# --- words ---------------------------------------------------------------------------------------

WORDS = r"""'a b'
"a b"
a\ b
a"b"'c'd
"a'b"
'a"b'
"a\"b\$c\\d\e"
\r\m
r""m
$'a\tb\x41\101\u00e9\'c'
{a,b}
x{a,b}y{1,2}
{1..3}
{c..a}
{a,{b,c}}
{a}
"{a,b}"
a{,b}
~
~/x
"~"
x~
$HOME
"$HOME/x"
${HOME}
'$HOME'
$X
"$X"
${X}y
$X$X
"${X^^}" "${L,,}"
$EMPTY
"$EMPTY"
a${IFS}b
${NOT:-d e}
"${NOT:-d e}"
${X:+y}
${!N}
$(echo a b)
"$(echo a b)"
`echo a`"b"
$(printf '%s-' 1 2)
"${ARRAY[@]}"
${ARRAY[1]}
"${ARRAY[*]}"
$'\''
"a
b"
\
-x
a=b
#x
a#b
%s
\\
'' ""
"$X"'$X'"$HOME"
{rm,-rf,"/ x"}
"a`echo b`c"
$(echo "$(echo deep)")"""


def of_bash(word: str, prelude: str) -> str:
    command = f"{prelude} printf '<%s>' p {word}"
    environment = {"HOME": "/home/agent", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)
    return done.stdout


@pytest.mark.parametrize("word", [word for word in WORDS.split("\n") if word not in ('"a', 'b"', "\\")] + ['"a\nb"'])
def test_words_are_what_bash_makes_of_them(word: str) -> None:
    prelude = "X='q  r'; L=ABC; N=X; EMPTY=; ARRAY=(one 'two three');"
    script = parse(f"{prelude} printf '<%s>' p {word}")
    command = next(command for command in script.commands if command.name == "printf" and len(command.words) > 1)
    assert all(each.is_known for each in command.words)
    assert "".join(f"<{each.text}>" for each in command.words[2:]) == of_bash(word, prelude)


@pytest.mark.parametrize("word", ["$UNSET", '"$UNSET"', "$(date)", "x$UNSET", "$((1+1))", "${UNSET%/*}", "$1", "$?"])
def test_what_only_running_tells_is_unknown(word: str) -> None:
    command = next(each for each in parse(f"x {word}").commands if each.name == "x")
    assert not command.words[1].is_known


def test_an_unquoted_unknown_may_be_several_words() -> None:
    assert [word.splits for word in only('x $a "$b" y').words] == [False, True, False, False]


def test_globs_are_told_from_quoted_ones() -> None:
    assert [word.globs for word in only(r"""x * "*" \* a? [ab] '['""").words] == [
        False,
        True,
        False,
        False,
        True,
        True,
        False,
    ]


def test_a_variable_under_a_condition_keeps_both_values() -> None:
    assert {"a 1", "b 1"} <= set(lines(parse("X=a; if x; then X=b; fi; $X 1")))


def test_a_variable_set_again_forgets_its_value() -> None:
    assert lines(parse("X=a; X=b; $X 1"))[-1] == "b 1"
    assert "a 1" not in lines(parse("X=a; X=b; $X 1"))


def test_a_subshell_keeps_its_variables_to_itself() -> None:
    assert lines(parse("X=a; (X=b); $X 1"))[-1] == "a 1"


def test_a_function_is_read_with_its_arguments() -> None:
    assert "hit 2" in lines(parse('f() { "$1" $2; }; f hit 2'))


@pytest.mark.parametrize("letter", ["\v", "\f", "\r", "\ufeff"])
def test_what_bash_takes_for_a_letter_begins_no_comment_and_parts_no_words(letter: str) -> None:
    line = f"echo a{letter}#; echo b{letter}c"
    said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, encoding="utf-8", check=True).stdout
    assert said.splitlines(keepends=False)[-1].endswith("c")
    assert lines(parse(line)) == [f"echo a{UNKNOWN}#", f"echo b{UNKNOWN}c"]


def test_redirections_are_kept_with_the_command_they_belong_to() -> None:
    first, second = parse("a 2>&1 | b >> out").commands
    assert [(each.descriptor, each.operator, each.target and each.target.text) for each in first.redirects] == [
        ("2", ">&", "1")
    ]
    assert [(each.operator, each.target and each.target.text) for each in second.redirects] == [(">>", "out")]


def test_the_redirection_of_a_group_holds_for_each_command_in_it() -> None:
    commands = [command for command in parse("{ a; b; } > out").commands if command.words]
    assert [command.redirects[0].target and command.redirects[0].target.text for command in commands] == ["out", "out"]


def test_a_pipe_tells_who_is_fed_by_whom() -> None:
    commands = parse("a | b | c; d").commands
    assert [sorted(command.fed_by) for command in commands] == [[], [0], [0, 1], []]


def test_what_a_word_or_variable_is_made_of_is_told() -> None:
    script = parse('X=$(a); b "$X" <(c)')
    command = next(command for command in script.commands if command.name == "b")
    feeders = {script.commands[index].name for word in command.words for index in word.fed_by}
    assert feeders == {"a", "c"}


def test_the_folder_follows_cd() -> None:
    script = parse("a; cd src && b; (cd ..; c); d; cd /x/../y; e; cd $z; f; cd; g")
    folders = {command.name: command.folder for command in script.commands}
    assert [folders[name] for name in "abcdefg"] == [
        *("/workspace", "/workspace/src", "/workspace", "/workspace/src", "/y", None, "/home/agent")
    ]


def test_the_background_is_told() -> None:
    assert [command.is_background for command in parse("a & b").commands] == [True, False]


def test_assignments_before_a_command_are_named() -> None:
    assert only("A=1 B=2 x").assignments == ("A", "B")


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ls (", "echo 'x", "if x", "x |", "$(", "((", "x <<E && ("])
def test_broken_syntax_is_never_whole(text: str) -> None:
    assert not parse(text).is_whole


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "$(a " * 5000,
        '"$(a ' * 5000,
        "`" * 4999,
        "{ " * 5000,
        "${a:-" * 5000,
        "if " * 5000,
        "a|" * 5000,
        "X=a;" + "X=$X$X;" * 3000,
        "f() { f $1; f $1; }; " + "f a;" * 3000,
        "env " * 5000,
        "eval " * 5000 + "a",
        "".join(f"f{n}() {{ f{n + 1} $1; f{n + 1} $1; }};" for n in range(200)) + "f0 a",
        "a;" * 5000,
    ],
)
def test_hostile_input_is_cut_short(text: str) -> None:
    script = parse(text)
    assert len(script.commands) <= COMMANDS_LIMIT
    assert not script.is_whole


def test_out_of_time_the_reading_stops_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspaces.shell.work.SECONDS_LIMIT", -1.0)
    for number in range(50):
        script = parse(f"a{number} b | c\n" * 900)
        assert not script.is_whole
        assert not parse(f"$(a{number} " * 900).is_whole


def test_a_source_past_the_limit_is_not_read() -> None:
    script = parse("ls;" + "#" * BYTES_LIMIT)
    assert (script.commands, script.is_whole) == ((), False)


def test_code_in_code_is_followed_eight_deep() -> None:
    def nested(depth: int) -> Script:
        text = "hit 2"
        for _ in range(depth):
            text = f"eval -- {text}"
        return parse(text)

    assert "hit 2" in lines(nested(7))
    assert nested(7).is_whole
    assert not nested(8).is_whole


def test_long_braces_and_values_do_not_multiply() -> None:
    assert len(only("x " + "{a,b}" * 40).words) < 100
    assert len(only("x {1..1000000}").words) < 100


def test_threads_parse_side_by_side() -> None:
    texts = [f"cd d{number} && hit {number} | sort" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(parse, texts))
    assert [lines(script)[1] for script in found] == [f"hit {number}" for number in range(200)]


@pytest.mark.parametrize("text", ["", " ", "\n", "#", ";", "\0", "\ud800", "\ue0010\ue001", "x <\ue0019\ue001", "🌸 x"])
def test_odd_texts_are_read_too(text: str) -> None:
    assert isinstance(parse(text), Script)


@pytest.mark.parametrize("before", ["{", "${", "$((", "[[ a =~ ", "a=(", "a[", "cat <<", "case "])
def test_no_character_crashes_the_grammar(before: str) -> None:
    """In a process of its own: what crashed was the whole server."""
    code = (
        "import sys\nfrom workspaces.shell import parse\n"
        "for point in range(0x80, 0x110000, 997):\n"
        "    if not 0xD800 <= point < 0xE000:\n"
        "        parse(sys.argv[1] + chr(point) + '1')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, before], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_characters_beyond_ascii_are_letters_of_words() -> None:
    words = [word.text for word in only("écho ❤️=1 a\U000efb83b $HOME\U0001f338").words]
    assert words == ["écho", "❤️=1", "a\U000efb83b", "/home/agent\U0001f338"]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ('echo do"x" {} {a..b} }x [a]*', ["echo dox {} a b }x [a]*"]),
        ("while x; do y; done", ["x", "y"]),
        ("if x\nthen\\\n y; fi", ["x", "y"]),
        ("{\\\n x; }", ["x"]),
        ("`if x; then y; fi` 1", [f"{UNKNOWN} 1", "x", "y"]),
        ('then"a" b', ["thena b"]),
        ("\"do\"x a\n'if' b\n\\fi c", ["dox a", "if b", "fi c"]),
        ("x a \\\n# hit; hit\ny", ["x a", "y"]),
        ("x a\\\n#b; y", ["x a#b", "y"]),
        ("x a\\ #b; y", ["x a #b", "y"]),
        ("x http://a/#b s#a#b#", ["x http://a/#b s#a#b#"]),
        ("x $# ${#a} ${a#b} $$#", [f"x {UNKNOWN} {UNKNOWN} {UNKNOWN} {UNKNOWN}#"]),
        ('a=(!  X=1 [x]); y "${a[@]}"', ["", "y ! X=1 [x]"]),
        ("a=()\nwhile x; do y; done", ["", "x", "y"]),
        ("echo time X=1 ! { a", ["echo time X=1 ! { a"]),
        ("echo $(x) time X=1", [f"echo {UNKNOWN} time X=1", "x"]),
        ("for x in { a; do y $x; done", ["y {", "y a"]),
        ("(( 1 < 2 )) && x $(( (1 << 2) ))\ny", [f"x {UNKNOWN}", "y"]),
        ("case x in [a]*) y;; [!b]) z;; esac", ["y", "z"]),
        ("time X=1 x", ["x"]),
    ],
)
def test_reserved_words_are_told_from_words_that_begin_like_them(text: str, commands: list[str]) -> None:
    assert lines(parse(text)) == commands
    assert parse(text).is_whole


def test_a_here_document_keeps_its_quotes() -> None:
    text = 'a "b $(x "c") \\"d\\" \\$e \\\\ `y "z"` \'q\' $"l"\n\n "'
    assert (
        parse(f"cat <<E\n{text}\nE").commands[0].input == f'a "b {UNKNOWN} \\"d\\" $e \\ {UNKNOWN} \'q\' $"l"\n\n "\n'
    )


def test_what_a_group_prints_elsewhere_still_goes_through_its_own_pipes() -> None:
    assert "hit 2" in lines(parse("{ echo hit 2 | sh; } > file"))
