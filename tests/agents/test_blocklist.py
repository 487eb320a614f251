"""The blocklist: what is refused in every disguise, what is never refused, and how rules are read."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from pytest_django import Settings

from agents import blocklist
from agents.blocklist import BadRule
from agents.tools.run_command import COMMAND_BYTES
from tests.agents.command_lines import ORDINARY, REFUSED
from tests.agents.daily_commands import DAILY
from tests.agents.dangerous_commands import DISGUISED
from workspaces.shell import is_read_only, parse


@pytest.mark.parametrize(("rule", "command"), [(rule, each) for rule, all_ in REFUSED.items() for each in all_])
def test_a_dangerous_command_is_refused_in_every_disguise(rule: str, command: str) -> None:
    hit = blocklist.hit(command, ())
    assert hit is not None
    assert hit.rule == rule
    assert len(hit.instead) > 20


@pytest.mark.parametrize("rule", DISGUISED)
def test_no_spelling_gets_past_its_rule(rule: str) -> None:
    hits = {command: blocklist.hit(command, ()) for command in DISGUISED[rule]}
    assert [command for command, hit in hits.items() if hit is None or hit.rule != rule] == []


@pytest.mark.parametrize("command", ORDINARY)
def test_an_ordinary_command_is_never_refused(command: str) -> None:
    assert blocklist.hit(command, ()) is None


def test_nothing_of_daily_work_is_refused() -> None:
    assert [command for command in DAILY if blocklist.hit(command, ())] == []


@pytest.mark.parametrize("wrap", ["timeout 5 env A=1 nice -n 5 {}", "bash -c {}", "env {}"])
def test_what_is_wrapped_too_deep_to_be_read_is_refused_as_that(wrap: str) -> None:
    code = "sudo ls"
    rules: list[str] = []
    while len(rules) < 18 and len(code) < COMMAND_BYTES:
        found = blocklist.hit(code, ())
        rules.append(found.rule if found else "")
        code = wrap.format(shlex.quote(code) if "bash" in wrap else code)
    assert set(rules) == {"sudo", "commands nested too deep"}
    assert rules[-1] == "commands nested too deep"


def test_the_tables_are_as_long_as_promised() -> None:
    assert sum(map(len, REFUSED.values())) >= 100
    assert len(ORDINARY) >= 80
    assert sum(map(len, DISGUISED.values())) >= 150
    assert len({*DAILY}) >= 200


# --- written rules -------------------------------------------------------------------------------

PUBLISH = ("run_command(npm publish *)",)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("npm publish *", "npm publish"),
        ("npm publish *", "npm publish --tag next"),
        ("npm publish", "npm publish --tag next"),
        ("npm publish:*", "npm publish --tag next"),
        ("run_command(npm publish *)", "cd pkg && npm --silent publish"),
        ("run_command(npm publish *)", "npm --prefix pkg publish"),
        ("run_command(npm publish *)", "sh -c 'npm publish'"),
        ("run_command( npm   publish * )", "/usr/bin/npm publish"),
        ("make deploy", "make   deploy now"),
        ("make deploy", "make -C sub deploy"),
        ("make * deploy", "make all deploy"),
        ("terraform *", "terraform"),
        ("terraform *", "terraform apply"),
        ("git commit --amend", "git commit -m x --amend"),
        ("git commit -n", "git commit -qn -m x"),
        ("git commit --fixup", "git commit --fixup=HEAD"),
        ("git checkout *.py", "git checkout a.py"),
        ("npm run deploy*", "npm run deploy:prod"),
        ("pip install 'a b'", "pip install 'a b'"),
        ("python* -c", "python3 -c 'print(1)'"),
        ("git log *", "git -C sub log"),
    ],
)
def test_a_written_rule_hits_whatever_stands_around_it(rule: str, command: str) -> None:
    hit = blocklist.hit(command, (rule,))
    assert hit is not None
    assert hit.rule == rule.strip()


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("npm publish *", "npm run publish"),
        ("npm publish *", "echo npm publish"),
        ("npm publish *", "npm test -- publish"),
        ("make deploy", "make deployment"),
        ("make deploy", "grep 'make deploy' README.md"),
        ("git commit --amend", "git commit -m '--amended'"),
        ("git log *", "git -c log.x=1 status"),
        ("git log *", "git -C log status"),
        ("terraform *", "cat terraform"),
        ("write_file", "echo write_file"),
    ],
)
def test_a_written_rule_leaves_the_rest_alone(rule: str, command: str) -> None:
    assert blocklist.hit(command, (rule,)) is None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("run_command(git push", "parentheses"),
        ("git push)", "parentheses"),
        ("run_command()", "run_command(*)"),
        ("run_comand(git push *)", "no tool `run_comand`"),
        ("write_file(src/**)", "only run_command"),
        ("curl * | sh", "one command"),
        ("a && b", "one command"),
        ("git commit -m 'x", "quotation"),
        ("''", "no command"),
        ("x" * 401, "401 characters"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(rule: str, said: str) -> None:
    with pytest.raises(BadRule, match=re.escape(said)):
        blocklist.read_rule(rule)


@pytest.mark.parametrize("rule", ["write_file", "write_file(*)", " run_command ", "run_command(*)"])
def test_a_rule_may_deny_a_whole_tool(rule: str) -> None:
    tool = rule.strip().removesuffix("(*)")
    assert blocklist.denied_tools((rule, "git push")) == {tool: rule.strip()}


def test_the_settings_rules_are_checked_before_the_start(settings: Settings) -> None:
    settings.SAKURA_COMMAND_BLOCKLIST = ["make deploy", "make (deploy"]
    assert ["(deploy" in str(problem.msg) for problem in blocklist.check_setting(None)] == [True]


# --- whatever comes ------------------------------------------------------------------------------

SHELLISH = st.text(st.sampled_from("abrm -/\\\"'`$(){}[]<>|&;\n\t#=*~!?,.:0EOFé\ue000\ue001"), max_size=300)


@given(SHELLISH | st.text(max_size=200))
@bounds(max_examples=300, deadline=None)
def test_no_text_breaks_the_policy(text: str) -> None:
    parse(text)
    blocklist.hit(text, PUBLISH)
    assert is_read_only(text) in (True, False)


WRAPPINGS = st.lists(
    st.sampled_from(
        [
            lambda code: f"sh -c {shlex.quote(code)}",
            lambda code: f"eval {shlex.quote(code)}",
            lambda code: f"bash -lc {shlex.quote(code)}",
            lambda code: f"( {code} )",
            lambda code: f"{{ {code}; }}",
            lambda code: f"if true; then {code}; fi",
            lambda code: f'echo "a $( {code} ) b"',
            lambda code: f"true && {code} | cat",
            lambda code: f'X={shlex.quote(code)}; eval "$X"',
            lambda code: f"timeout 5 env A=1 bash -c {shlex.quote(code)}",
            lambda code: f"for x in 1 2; do {code}; done",
            lambda code: f"bash <<'STOP'\n{code}\nSTOP\n" if "STOP" not in code else f"sh -c {shlex.quote(code)}",
            lambda code: f"cat <( {code} )",
        ]
    ),
    max_size=5,
)


@given(WRAPPINGS)
@bounds(max_examples=200, deadline=None)
def test_nesting_never_hides_a_command(wrappings: list[object]) -> None:
    code = "sudo ls"
    for wrap in wrappings:
        assert callable(wrap)
        code = wrap(code)
    hit = blocklist.hit(code, ())
    assert hit is not None
    assert hit.rule == "sudo"
    assert not is_read_only(code)
