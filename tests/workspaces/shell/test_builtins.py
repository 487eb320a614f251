"""What the shell's own commands change, seen in the commands after them."""

import pytest

from workspaces.shell import UNKNOWN, parse


@pytest.mark.parametrize(
    "script",
    [
        "read x <<< rm; $x -f a",
        "read -r x y <<< 'rm -f'; $x $y a",
        "echo 'rm -f a' | while read -r line; do $line; done",
        "while IFS= read -r line; do eval \"$line\"; done <<'E'\nls\nrm -f a\nE",
        "mapfile -t all <<< 'rm'; ${all[0]} -f a",
        "printf -v x '%s' rm; $x -f a",
        'set rm -f a; "$@"',
        "set -- rm -f a; $1 $2 $3",
        "alias x='rm -f'; x a",
        "IFS=,; x=rm,-f,a; $x",
        "x[0]=rm; x[1]=-f; ${x[@]} a",
        "bash -c '$0 -f a' rm",
        'bash -c \'exec "$0" "$@"\' rm -f a',
        "bash <(echo rm -f a)",
        "source <(echo rm -f a)",
        "bash < <(echo rm -f a)",
        "$(command -v rm) -f a",
        "x=xrm; ${x#x} -f a",
        "x=`echo \\`echo rm\\``; $x -f a",
        "env -iS 'rm -f a'",
        "env --split-string 'A=1 rm -f a'",
        "coproc name { rm -f a; }",
        "time { rm -f a; }",
        "git -c alias.x='!rm -f a' x",
        "script --command='rm -f a'",
    ],
)
def test_the_command_stands_in_the_script(script: str) -> None:
    found = [[word.text for word in command.words] for command in parse(script).commands]
    assert ["rm", "-f", "a"] in found or ["rm", "-f"] in [words[:2] for words in found]


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("pushd sub; ls", "/workspace/sub"),
        ("pushd sub; popd; ls", "/workspace"),
        ("pushd /; cd etc; ls", "/etc"),
        ("popd; ls", None),
        ("cd sub && pushd ../x && popd && ls", "/workspace/sub"),
    ],
)
def test_the_folder_is_followed(script: str, folder: str | None) -> None:
    assert next(each for each in parse(script).commands if each.name == "ls").folder == folder


def test_what_a_command_reads_from_elsewhere_is_unknown() -> None:
    command = next(each for each in parse("read x < file; ls $x").commands if each.name == "ls")
    assert command.words[1].text == UNKNOWN
