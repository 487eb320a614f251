"""What a skill's allowed-tools mean here, and what several of them leave."""

import pytest

from agents.models import Policy
from agents.narrowing import COMMAND_TOOLS, Allowed, Loaded, NarrowedRules, allowed, remaining
from agents.policies import of_task
from agents.policy import rules_for
from agents.tools import runner
from agents.tools.base import REGISTRY, ToolError


def there(*names: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name in REGISTRY))


@pytest.mark.parametrize(
    ("entries", "tools"),
    [
        (["Read"], there("read_file")),
        (["Edit"], there("edit_file", "replace_lines", "insert_lines")),
        (["MultiEdit"], there("edit_file", "replace_lines", "insert_lines")),
        (["Write", "LS"], there("write_file", "list_directory")),
        (["NotebookEdit", "Glob"], there("edit_notebook", "glob")),
        (["Grep", "bash"], there("search_in_files", *COMMAND_TOOLS)),
        (["read_file", "check_changes"], there("read_file", "check_changes")),
        (["run_command(make *)"], there(*COMMAND_TOOLS)),
    ],
)
def test_names_of_other_agents_and_our_own_are_known(entries: list[str], tools: tuple[str, ...]) -> None:
    assert allowed(entries).tools == tools


def test_a_skill_that_says_nothing_narrows_nothing() -> None:
    assert allowed(None) == Allowed()


@pytest.mark.parametrize("entries", [[], ["WebFetch"], ["mcp__x__y", "Task(explore)"], ["((("], ["Bash(git *"]])
def test_a_skill_that_names_no_known_tool_narrows_nothing_and_says_so(entries: list[str]) -> None:
    means = allowed(entries)
    assert means.tools is None
    assert means.notes[0] == "It names no tool that Sakura knows, so it narrows nothing."
    assert all(entry in means.notes[1] for entry in entries)


def test_unknown_names_beside_known_ones_are_noted() -> None:
    means = allowed(["Read", "WebFetch"])
    assert (means.tools, means.notes) == (("read_file",), ("No tool here goes by WebFetch.",))


def test_a_pattern_that_is_not_for_commands_is_noted() -> None:
    assert "Edit(docs/**) allows the tool as a whole" in allowed(["Edit(docs/**)"]).notes[0]


@pytest.mark.parametrize(
    ("entries", "commands"),
    [
        (["Bash(git *)"], ("git *",)),
        (["Bash(git:*)", "Bash(npm test)"], ("git:*", "npm test")),
        (["Bash(git  add :*)"], ("git add:*",)),
        (["Bash(git *)", "Bash"], None),
        (["Bash(*)"], None),
        (["Bash()"], None),
        (["Bash(:*)"], None),
        (["Read"], None),
    ],
)
def test_patterns_narrow_commands_unless_any_is_allowed(entries: list[str], commands: tuple[str, ...] | None) -> None:
    assert allowed(entries).commands == commands


def test_several_skills_leave_what_all_of_them_allow() -> None:
    tools = ["edit_file", "finish_task", "read_file", "search_in_files", "use_skill"]
    loaded = [Loaded("a", ("read_file", "edit_file")), Loaded("b", None), Loaded("c", ("read_file", "search_in_files"))]
    assert remaining(tools, loaded) == ("finish_task", "read_file", "use_skill")


def test_a_skill_never_gives_what_the_agent_did_not_have() -> None:
    assert remaining(["read_file"], [Loaded("a", ("read_file", "edit_file"))]) == ("read_file",)


def rules(*loaded: Loaded, agent: str = "implementer") -> NarrowedRules:
    tools = [tool.name for tool in runner.available(agent, "full")]
    return NarrowedRules(rules_for(of_task(Policy()), agent, None), tools, loaded)


def run(command: str, *patterns: tuple[str, ...]) -> str:
    """Return "" where the command may run, else why not."""
    narrow = rules(*(Loaded(f"skill-{number}", ("run_command",), each) for number, each in enumerate(patterns)))
    try:
        narrow.may_run(command)
    except ToolError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git",
        "git log --oneline | git shortlog",
        "git add -A && git commit -m 'a; rm b'",
        'git show "$(git rev-parse HEAD)"',
        "git diff 2>&1",
        "git diff 2>/dev/null",
        "/usr/bin/git status",
        "timeout 5 git status",
        "LC_ALL=C git status",
        "at=$(git rev-parse HEAD); git show $at",
        "# look\ngit status",
    ],
)
def test_a_command_may_run_when_every_part_of_it_fits(command: str) -> None:
    assert run(command, ("git *",)) == ""


@pytest.mark.parametrize(
    "command",
    [
        "gitk",
        "ls",
        "git status; rm -r build",
        "git log | sh",
        "git show $(cat name)",
        "bash -c 'rm x'",
        "env git status && env rm x",
        "$GIT status",
        "git log > calc.py",
        "git log >> $FILE",
        "./git status",
        "GIT_EXTERNAL_DIFF=./x git diff",
        "PATH=. && git status",
        "xargs git add < names",
        "> calc.py",
        "echo git status",
        "git status &&",
        "for f in *; do rm $f; done",
        "cat <(rm x)",
    ],
)
def test_a_command_is_denied_when_a_part_of_it_does_not_fit(command: str) -> None:
    said = run(command, ("git *",))
    assert said.startswith("DENIED: ")
    assert "the skill skill-0" in said
    assert "git *" in said


@pytest.mark.parametrize(
    "command",
    [
        "git -c alias.x='!rm y' x",
        "git -c core.pager='rm y' -p log",
        "git -c core.sshCommand='rm y' fetch",
        "git -c diff.x.textconv='rm y' diff",
        "git --exec-path=. x",
        "git --config-env=core.pager=X -p log",
        "git config alias.x '!rm y' && git x",
        "git config core.hooksPath hooks",
        "git grep -O'rm y' x",
        "git grep -nOrm x",
        "git diff --ext-diff",
        "git difftool -x 'rm y'",
        "git rebase --exec='rm y' HEAD~1",
        "git rebase -x 'rm y' HEAD~1",
        "git filter-branch --tree-filter 'rm y'",
        "git fetch --upload-pack='rm y' x",
        "git clone -u 'rm y' x",
        "git fetch 'ext::sh -c rm'",
        "git log --output=calc.py",
    ],
)
def test_git_may_not_be_made_to_run_or_write_something_else(command: str) -> None:
    assert run(command, ("git *",)).startswith("DENIED: ")


@pytest.mark.parametrize(
    "command",
    [
        "git -c user.name=x commit -m y",
        "git -c color.ui=never -C sub log",
        "git config user.name x",
        "git config --get core.pager",
        "git config --list",
        "git log --exec-path",
        "git --exec-path",
        "git commit -m 'core.pager and --output=x'",
        "git grep -n output",
        "git rebase main",
        "git clone a b",
    ],
)
def test_gits_harmless_options_may_be_given(command: str) -> None:
    assert run(command, ("git *",)) == ""


def test_a_command_must_fit_every_skill() -> None:
    assert run("git log -1", ("git *",), ("git log *", "ls")) == ""
    assert "skill-1" in run("git fetch", ("git *",), ("git log *", "ls"))
    assert "skill-0" in run("ls", ("git *",), ("git log *", "ls"))


def test_a_pattern_without_a_star_is_the_whole_command() -> None:
    assert run("npm test", ("npm test",)) == ""
    assert run("npm test --force", ("npm test",)) != ""


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("npm run test:*", "npm run test:unit", True),
        ("npm run test:*", "npm run test", True),
        ("npm run test:*", "npm run test -- -v", True),
        ("npm run test:*", "npm run lint", False),
        ("git:*", "gitk", False),
        ("git log [a]?", "git log a1", False),
        ("git log [a]?", "git log [a]?", True),
        ("./check *", "./check --all", True),
        ("* --version", "python3 --version", True),
        ("make *", "makefile", False),
    ],
)
def test_a_star_stands_for_any_text_and_nothing_else_is_special(pattern: str, command: str, fits: bool) -> None:
    assert (run(command, (pattern,)) == "") is fits


def test_a_pattern_of_many_stars_does_not_hang() -> None:
    assert run("a" * 3000, ("a*" * 60 + "b",)) != ""


def test_the_policy_is_asked_first() -> None:
    policy = rules_for(of_task(Policy(blocklist=["run_command(git push *)"])), "implementer", None)
    with pytest.raises(ToolError, match="BLOCKED_COMMAND"):
        NarrowedRules(policy, (), [Loaded("a", ("run_command",), ("ls",))]).may_run("git push origin main")


def test_a_tool_that_is_not_allowed_is_denied_with_what_is_left() -> None:
    narrow = rules(Loaded("look", ("read_file", "glob")))
    narrow.may_use("read_file")
    with pytest.raises(ToolError) as caught:
        narrow.may_use("write_file")
    assert (caught.value.code, "the skill look" in str(caught.value)) == ("DENIED", True)
    assert "finish_task, glob, read_file, use_skill." in str(caught.value)


@pytest.mark.parametrize(("agent", "tool"), [("implementer", "finish_task"), ("reviewer", "submit_review")])
def test_ending_the_work_and_loading_a_skill_are_always_left(agent: str, tool: str) -> None:
    narrow = rules(Loaded("nothing", ()), agent=agent)
    narrow.may_use(tool)
    narrow.may_use("use_skill")
    assert [each.name for each in runner.usable(runner.available(agent, "full"), narrow)] == [tool, "use_skill"]


def test_what_else_the_rules_say_is_unchanged() -> None:
    narrow = NarrowedRules(
        rules_for(of_task(Policy(hidden=["*.key"], secrets_allowed=["f/*"])), "implementer", None), (), ()
    )
    assert (narrow.hidden, narrow.hides("a.key"), narrow.may_hold_secrets("f/x")) == (("*.key",), True, True)
    with pytest.raises(ToolError, match="DENIED"):
        narrow.may_read("a.key")
    with pytest.raises(ToolError, match="PROTECTED_PATH"):
        narrow.may_write(".sakura/x")


def test_what_protects_a_path_is_asked_of_the_policy_and_a_skill_is_named_in_a_decision() -> None:
    applied = of_task(Policy(rules=["deny path:docs/**", "deny tool:edit_file path:src/**"]))
    loaded = [Loaded("look", ("read_file", "run_command"), ("git *",))]
    tools = [tool.name for tool in runner.available("implementer", "full")]
    narrow = NarrowedRules(rules_for(applied, "implementer", {"tests/test_a.py"}), tools, loaded)
    assert [
        found.rule if (found := narrow.protection(path)) else "" for path in ("docs/a", "tests/test_a.py", "b")
    ] == [
        "deny path:docs/**",
        "existing tests",
        "",
    ]
    with pytest.raises(ToolError, match="deny tool:edit_file"):
        narrow.of_call("edit_file", "WRITE").may_write("src/a.py")
    narrow.of_call("write_file", "WRITE").may_write("src/a.py")
    by_skill = narrow.decision("run_command", "EXECUTE", command="make")
    assert (by_skill.allowed, by_skill.rule, by_skill.source) == (False, "look", "skill")
    assert narrow.decision("edit_file", "WRITE", paths=["docs/a"]).source == "task"
    assert narrow.decision("run_command", "EXECUTE", command="git status").allowed


def test_a_skill_loaded_later_narrows_what_was_bound_to_a_call_before() -> None:
    loaded: list[Loaded] = []
    bound = NarrowedRules(rules_for(of_task(Policy()), "implementer", None), (), loaded).of_call(
        "run_command", "EXECUTE"
    )
    bound.may_run("make")
    loaded.append(Loaded("look", ("run_command",), ("git *",)))
    with pytest.raises(ToolError, match="the skill look"):
        bound.may_run("make")
