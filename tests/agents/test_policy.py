"""The rules of an agent on a task: which tools, commands and paths, and what is told where the answer is no."""

import pytest
from pydantic import ValidationError
from pytest_django import Settings

from agents import policies, policy
from agents.models import Policy, Task
from agents.tools import runner
from agents.tools.base import Rules, ToolError


def rules(**fields: list[str]) -> Rules:
    return policy.rules_for(policies.of_task(Policy(**fields)), "implementer", None)


def refusal(rules: Rules, command: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        rules.may_run(command)
    return caught.value


def test_a_refused_command_names_its_rule_and_another_way() -> None:
    error = refusal(rules(), "ls && sudo apt install x")
    assert (error.code, error.data) == ("BLOCKED_COMMAND", {"rule": "sudo", "source": "defaults"})
    assert "rule `sudo`" in error.message
    assert "set-up" in error.message


def test_the_tasks_own_rules_hold_beside_the_default_ones() -> None:
    own = rules(blocklist=["run_command(make deploy *)"])
    assert "rule `run_command(make deploy *)`" in refusal(own, "cd x && make deploy now").message
    assert "rule `git push`" in refusal(own, "git push").message
    own.may_run("make test")


def test_the_installations_rules_hold_for_every_task(settings: Settings) -> None:
    settings.SAKURA_COMMAND_BLOCKLIST = ["terraform apply"]
    assert "rule `terraform apply`" in refusal(rules(), "terraform apply -auto-approve").message
    rules().may_run("terraform plan")


def test_a_rule_that_cannot_be_read_any_more_lets_nothing_run() -> None:
    stored = Task(policy={"blocklist": ["gone_tool(x)"]}).rules()
    error = refusal(policy.rules_for(policies.of_task(stored), "implementer", None), "ls")
    assert (error.code, "gone_tool" in error.message) == ("BLOCKED_COMMAND", True)


def test_a_rule_that_is_a_tools_name_denies_the_tool() -> None:
    denying = rules(blocklist=["write_file", "run_command(*)"])
    for tool, rule in (("write_file", "write_file"), ("run_command", "run_command(*)")):
        with pytest.raises(ToolError, match=f"rule `{rule}`".replace("(*)", r"\(\*\)")) as caught:
            denying.may_use(tool)
        assert caught.value.code == "DENIED"
    denying.may_use("read_file")


def test_a_denied_tool_is_not_shown() -> None:
    tools = runner.available("implementer", "minimal")
    names = [tool.name for tool in runner.usable(tools, rules(blocklist=["write_file", "git push"]))]
    assert names == [tool.name for tool in tools if tool.name != "write_file"]
    assert "run_command" in names


# --- what a person may ask for -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("blocklist", "run_command(git push", "parentheses"),
        ("blocklist", "run_comand(git push)", "no tool"),
        ("blocklist", " ", "empty"),
        ("hidden", "", "empty"),
        ("hidden", "/", "empty"),
        ("hidden", "../x", "leave out `..`"),
        ("secrets_allowed", "[z-a].pem", "brackets"),
        ("protected", "a\x00b", "can't be seen"),
        ("unprotected", "x" * 401, "401 characters"),
    ],
)
def test_a_rule_or_glob_that_cannot_be_read_is_refused_where_it_was_typed(field: str, value: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate({field: ["docs/**" if field != "blocklist" else "make x", value]})
    [detail] = caught.value.errors()
    assert detail["loc"] == (field, 1)
    assert said in detail["msg"]
    assert not detail["msg"].startswith("Value error")


def test_rules_and_globs_that_can_be_read_are_taken_as_they_are() -> None:
    fields = {
        "blocklist": ["git push *", "run_command(npm publish *)", "write_file", "pg_dump"],
        "hidden": ["secrets/**", "*.pem", "/top", "app/[id]/x", "{a,b}/**", "ünï code"],
        "secrets_allowed": ["tests/fixtures/**"],
    }
    assert Policy.model_validate(fields).model_dump(include=set(fields)) == fields


def test_a_stored_policy_is_read_whatever_it_holds() -> None:
    assert Task(policy={"hidden": ["../x"], "blocklist": ["gone_tool(x)"]}).rules().hidden == ["../x"]


@pytest.mark.parametrize(
    "path",
    [".vscode/tasks.json", "web/.vscode/tasks.json", "a/.sakura/skills/x.md", ".github/workflows/a.yml", "b/.envrc"],
)
def test_what_runs_or_instructs_by_itself_is_protected_wherever_it_lies(path: str) -> None:
    with pytest.raises(ToolError) as caught:
        rules().may_write(path)
    assert caught.value.code == "PROTECTED_PATH"


@pytest.mark.parametrize("path", [".github/CODEOWNERS", "docs/vscode/a.md", "sakura/x.md", "profile", "src/.envrc.py"])
def test_what_only_looks_like_it_is_not(path: str) -> None:
    rules().may_write(path)
