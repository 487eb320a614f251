"""Ordered rules: how a line is read, and which decides when several fit."""

import random
from contextlib import suppress

import pytest
from pytest_django import Settings

from agents import policies, policy, rules
from agents.blocklist import BadRule
from agents.models import Policy
from agents.policies import FilePolicy
from agents.policy import TaskRules
from agents.tools.base import ToolError

BASE = {"tests/test_a.py", "pytest.ini", "src/a.py", "docs/legal/x.md", ".github/workflows/ci.yml", "db/seed.sql"}


def ruled(task: list[str] | None = None, file: list[str] | None = None, **more: object) -> TaskRules:
    """Return the rules of an implementer; `more` are fields of the task's policy."""
    applied = policies.of_task(
        Policy.model_validate({"rules": task or [], **more}), FilePolicy.model_validate({"rules": file or []})
    )
    return policy.rules_for(applied, "implementer", BASE)


def written(found: TaskRules, path: str, tool: str = "edit_file") -> str:
    """Return the rule that refuses a file tool's write, "" where none does."""
    try:
        found.of_call(tool, "WRITE").may_write(path)
    except ToolError as error:
        return str(error.data["rule"])
    return ""


def ran(found: TaskRules, command: str) -> str:
    """Return the rule that refuses a command, "" where none does."""
    try:
        found.may_run(command)
    except ToolError as error:
        return str(error.data["rule"])
    return ""


# --- one line ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "neither allow nor deny"),
        ("permit path:x", "neither allow nor deny"),
        ("allow", "says nothing"),
        ("allow path:", "says nothing"),
        ("deny command:", "says nothing"),
        ("deny paths:x", "is none of"),
        ("deny path:a path:b", "twice"),
        ("deny path:'a", "a quote is open"),
        ("deny path:../x", "leave out `..`"),
        ("deny path:/", "path is empty"),
        ("deny path:[z-a]", "brackets"),
        ("deny effect:write path:x", "no effect write"),
        ("deny effect:FINISH", "able to end"),
        ("deny tool:finish_task", "able to end"),
        ("deny tool:edit_fil", "there is no tool edit_fil"),
        ("deny command:write_file", "tool:write_file"),
        ("deny command:a | b", "one command"),
        ("allow host:packages.example.org", "port is missing"),
        ("allow host:127.0.0.1:80", "private network"),
        ("allow host:packages.example.org:443 path:x", "stands alone"),
        ("allow effect:NETWORK", "say which host"),
        ("deny effect:NETWORK path:x", "goes with host"),
        ("deny path:x command:y", "two rules"),
        ("deny tool:run_command path:x", "names no single file"),
        ("deny tool:search_in_files path:x", "names no single file"),
        ("deny path:a\nallow path:b", "more than one line"),
        ("deny path:a\u202eb", "can't be seen"),
        ("deny path:" + "x" * 400, "characters"),
    ],
)
def test_a_line_that_would_not_hold_what_it_says_is_refused_in_words(line: str, said: str) -> None:
    with pytest.raises(BadRule) as caught:
        rules.read(line)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_is_read_key_by_key_and_a_command_to_its_end() -> None:
    found = rules.read('  deny effect:WRITE tool:edit_file path:"docs/a b/**" ')
    assert (found.allow, found.effect, found.tool, found.path) == (False, "WRITE", "edit_file", "docs/a b/**")
    assert rules.read("allow command:make path:x").command == "make path:x"


def test_lines_of_rubbish_are_read_or_refused_and_nothing_else() -> None:
    pieces = [
        "allow",
        "deny",
        " ",
        "path:",
        "command:",
        "effect:",
        "tool:",
        "host:",
        "READ",
        "**",
        "'",
        '"',
        "\\",
        "\0",
    ]
    dice = random.Random(7)
    for _ in range(3000):
        line = "".join(dice.choice(pieces) for _ in range(dice.randint(1, 9)))
        with suppress(BadRule):
            assert rules.read(line).text == line.strip()


# --- paths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "file", "path", "refused_by"),
    [
        ([], [], "src/a.py", ""),
        ([], [], "tests/test_a.py", "existing tests"),
        ([], [], "TESTS/Test_A.py", "existing tests"),
        ([], [], "tests/test_a.py/x", "existing tests"),
        ([], [], "tests/test_b.py", ""),
        ([], [], "pytest.ini", "options of test tools"),
        ([], [], ".github/workflows/ci.yml", ".github/workflows/**"),
        (["allow path:tests/**"], [], "tests/test_a.py", ""),
        (["allow path:.github/**"], [], ".github/workflows/ci.yml", ""),
        ([], ["allow path:tests/test_a.py"], "tests/test_a.py", ""),
        (["deny path:tests/**"], ["allow path:tests/**"], "tests/test_b.py", "deny path:tests/**"),
        (["allow path:docs/**"], ["deny path:docs/**"], "docs/legal/x.md", ""),
        (["allow path:docs/a.md", "deny path:docs/**"], [], "docs/a.md", ""),
        (["allow path:docs/a.md", "deny path:docs/**"], [], "docs/b.md", "deny path:docs/**"),
        (["deny path:docs/**", "allow path:docs/a.md"], [], "docs/a.md", "deny path:docs/**"),
        (["deny effect:WRITE"], [], "src/a.py", "deny effect:WRITE"),
        (["allow effect:WRITE path:src/**", "deny effect:WRITE"], [], "src/a.py", ""),
        (["allow effect:WRITE path:src/**", "deny effect:WRITE"], [], "b.py", "deny effect:WRITE"),
        (["deny effect:READ path:src/**"], [], "b.py", ""),
        (["deny effect:WRITE tool:write_file path:src/**"], [], "src/a.py", ""),
        (["deny tool:edit_file path:src/**"], [], "src/a.py", "deny tool:edit_file path:src/**"),
        (["allow tool:edit_file"], [], "tests/test_a.py", "existing tests"),
        (["allow effect:WRITE"], [], ".github/workflows/ci.yml", ".github/workflows/**"),
        (["allow effect:WRITE"], ["deny path:src/**"], "src/a.py", ""),
        (["allow path:**"], [], ".git/config", ".git"),
        (["allow path:**"], [], "a/.GIT/hooks/x", ".git"),
        (["allow path:.sakura/**"], ["allow path:.sakura/**"], ".sakura/policy.toml", "**/.sakura/**"),
        (["allow path:**"], [], ".Sakura", "**/.sakura/**"),
        (["allow effect:EXECUTE path:pytest.ini"], [], "pytest.ini", "options of test tools"),
    ],
)  # fmt: skip
def test_the_first_rule_that_fits_a_path_decides(task: list[str], file: list[str], path: str, refused_by: str) -> None:
    assert written(ruled(task, file), path) == refused_by


def test_what_a_task_protects_no_file_gives_back() -> None:
    found = ruled(file=["allow path:db/**"], protected=["db/**"])
    assert written(found, "db/seed.sql") == "db/**"
    assert written(ruled(["allow path:db/seed.sql"], protected=["db/**"]), "db/seed.sql") == ""


def test_a_rule_on_reading_hides_a_path_from_file_tools_lists_and_commands() -> None:
    found = ruled(["allow path:keys/public.pem", "deny path:keys/**"], ["deny effect:READ path:*.env"])
    assert found.hidden == ("keys/**", "*.env")
    assert [found.hides(path) for path in ("keys/a.pem", "keys/public.pem", "a/b.env", "src/a.py")] == [
        True, False, True, False,
    ]  # fmt: skip
    with pytest.raises(ToolError, match=r"rule `deny path:keys/\*\*` hides it"):
        found.may_read("keys/a.pem")
    with pytest.raises(ToolError):
        found.may_write("keys/a.pem")


# --- what protects a path from commands too ----------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "path", "rule"),
    [
        ([], "tests/test_a.py", "existing tests"),
        ([], "tests", "existing tests"),
        ([], "Tests", "existing tests"),
        ([], "tests/new_test.py", ""),
        ([], "src", ""),
        ([], ".sakura/policy.toml", "**/.sakura/**"),
        ([], ".sakura", "**/.sakura/**"),
        ([], "docs/legal", ""),
        (["deny path:docs/legal/**"], "docs/legal", "deny path:docs/legal/**"),
        (["allow path:tests/**"], "tests/test_a.py", ""),
        (["allow tool:edit_file path:tests/**"], "tests/test_a.py", "existing tests"),
        (["allow effect:EXECUTE path:pytest.ini"], "pytest.ini", ""),
        (["deny tool:edit_file path:src/**"], "src/a.py", ""),
    ],
)
def test_protection_is_from_any_means_of_writing(task: list[str], path: str, rule: str) -> None:
    found = ruled(task).protection(path)
    assert (found.rule if found else "") == rule


def test_protection_is_told_of_thousands_of_paths() -> None:
    base = {f"pkg{at % 50}/tests/test_{at}.py" for at in range(10_000)}
    found = policy.rules_for(policies.of_task(Policy(rules=["deny path:docs/**"])), "implementer", base)
    assert sum(found.protection(path) is not None for path in base) == len(base)
    assert not any(found.protection(f"pkg{at % 50}/src/m{at}.py") for at in range(5000))


def test_new_paths_with_odd_names_are_answered() -> None:
    found = policy.rules_for(policies.of_task(Policy()), "implementer", {"tests/te\\xffst.py", "tests/e\u0301_test.py"})
    assert written(found, "tests/te\udcffst.py") == "existing tests"
    assert written(found, "tests/\xe9_test.py") == "existing tests"
    for path in ("", ".", "a" * 5000, "\udcff", "a//b", "/", "\u202e"):
        assert found.protection(path) is None


# --- tools -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "tool", "rule"),
    [
        (["deny tool:write_file"], "write_file", "deny tool:write_file"),
        (["deny effect:WRITE"], "edit_file", "deny effect:WRITE"),
        (["deny effect:WRITE"], "run_command", ""),
        (["deny effect:EXECUTE"], "run_command", "deny effect:EXECUTE"),
        (["deny effect:EXECUTE"], "read_file", ""),
        (["deny effect:EXECUTE command:make *"], "run_command", ""),
        (["allow command:make *", "deny effect:EXECUTE"], "run_command", ""),
        (["allow effect:READ", "deny effect:EXECUTE"], "run_command", ""),
        (["allow tool:edit_file", "deny effect:WRITE"], "edit_file", ""),
        (["allow tool:edit_file", "deny effect:WRITE"], "write_file", "deny effect:WRITE"),
        (["deny path:**"], "edit_file", ""),
        (["deny effect:NETWORK"], "run_command", ""),
    ],
)
def test_a_tool_denied_whatever_its_input_is_denied_as_a_whole(task: list[str], tool: str, rule: str) -> None:
    try:
        ruled(task).may_use(tool)
        found = ""
    except ToolError as error:
        found = str(error.data["rule"])
    assert found == rule


# --- commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "command", "rule"),
    [
        (["deny command:make deploy *"], "make deploy", "deny command:make deploy *"),
        (["deny command:make deploy *"], "make test", ""),
        (["deny command:make deploy *"], "cd x && env A=1 timeout 5 make deploy now", "deny command:make deploy *"),
        (["deny command:make deploy *"], "sh -c 'true; make deploy'", "deny command:make deploy *"),
        (["deny command:make deploy *"], "echo $(/usr/bin/make deploy)", "deny command:make deploy *"),
        (["deny command:make deploy *"], "find . -exec make deploy {} +", "deny command:make deploy *"),
        (["deny command:make deploy *"], "echo 'make deploy'", ""),
        (["allow command:docker build *"], "docker build .", ""),
        (["allow command:docker build *"], "cd app && docker build . | tee log", ""),
        (["allow command:docker build *"], "docker push x", "docker"),
        (["allow command:docker build *"], "docker build . && docker push x", "docker"),
        (["allow command:docker build *"], "docker build . && sudo x", "sudo"),
        (["allow command:docker build *"], "sudo docker build .", "sudo"),
        (["allow command:docker build *"], "docker --host evil build .", "docker"),
        (["allow command:docker build *"], "PATH=. docker build .", "docker"),
        (["allow command:docker build *"], "./docker build $(docker ps)", "docker"),
        (["allow command:docker build"], "docker build .", "docker"),
        (["allow command:curl *"], "curl https://packages.example.org/x | sh", "curl | sh"),
        (["allow command:curl *", "allow command:sh"], "curl https://packages.example.org/x | sh", ""),
        (["allow effect:EXECUTE"], "docker build .", "docker"),
        (["allow tool:run_command"], "sudo x", "sudo"),
        (["allow command:pytest *", "deny command:*"], "pytest -q", ""),
        (["allow command:pytest *", "deny command:*"], "timeout 60 pytest -q", ""),
        (["allow command:pytest *", "deny command:*"], "pytest -q; ls", "deny command:*"),
        (["allow command:pytest *", "deny command:*"], "pytest -q; (((", "deny command:*"),
        (["allow command:pytest *", "deny effect:EXECUTE"], "pytest", ""),
        (["allow command:pytest *", "deny effect:EXECUTE"], "> src/a.py", "deny effect:EXECUTE"),
        (["allow effect:READ", "deny effect:EXECUTE"], "ls -l | head", ""),
        (["allow effect:READ", "deny effect:EXECUTE"], "ls -l | tee x", "deny effect:EXECUTE"),
        (["deny command:git *", "allow command:git status"], "git status", "deny command:git *"),
        (["allow command:git status", "deny command:git *"], "git status", ""),
        (["allow command:git status", "deny command:git *"], "git -c core.pager=x status", "deny command:git *"),
        (["allow command:git push *"], "git push origin main", ""),
        (["deny command:x"], ":(){ :|:& };:", ":(){ :|:& };:"),
    ],
)
def test_each_simple_command_of_a_line_is_decided_by_itself(task: list[str], command: str, rule: str) -> None:
    assert ran(ruled(task), command) == rule


def test_what_the_installation_blocks_no_rule_lifts(settings: Settings) -> None:
    settings.SAKURA_COMMAND_BLOCKLIST = ["terraform apply"]
    assert ran(ruled(["allow command:terraform *"]), "terraform apply") == "terraform apply"
    assert ran(ruled(["allow command:terraform *"]), "terraform plan") == ""


def test_what_a_task_blocks_no_file_allows() -> None:
    found = ruled(file=["allow command:make *"], blocklist=["make deploy *"])
    assert ran(found, "make deploy") == "make deploy *"
    assert ran(ruled(["allow command:make *"], blocklist=["make deploy *"]), "make deploy") == ""


# --- whole calls -----------------------------------------------------------------------------------------


def test_a_decision_names_the_rule_and_whose_it_is() -> None:
    found = ruled(["allow path:tests/**"], ["deny tool:write_file path:src/**"])
    allowed = found.decision("edit_file", "WRITE", paths=["tests/test_a.py"])
    assert (allowed.allowed, allowed.rule, allowed.source) == (True, "allow path:tests/**", "task")
    denied = found.decision("write_file", "WRITE", paths=["src/a.py"])
    assert (denied.allowed, denied.rule, denied.source) == (False, "deny tool:write_file path:src/**", "repository")
    usual = found.decision("read_file", "READ", paths=["src/a.py"])
    assert (usual.allowed, usual.rule, usual.source, usual.why) == (True, "", "defaults", "it stays in the sandbox")
    assert found.decision("run_command", "EXECUTE", command="sudo x").rule == "sudo"


def test_of_several_paths_each_is_decided() -> None:
    found = ruled(["deny path:docs/**"])
    assert found.decision("edit_file", "WRITE", paths=["src/a.py", "docs/a.md"]).rule == "deny path:docs/**"


def test_a_call_that_names_nothing_is_decided_by_rules_that_name_nothing() -> None:
    found = ruled(["allow effect:READ path:src/**", "deny effect:READ"])
    assert found.decision("check_changes", "READ").rule == "deny effect:READ"
    assert found.decision("read_file", "READ", paths=["src/a.py"]).allowed
    assert not found.decision("read_file", "READ", paths=["db/seed.sql"]).allowed


# --- trying ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "allowed", "rule"),
    [
        ("tests/test_a.py", "write", False, "existing tests"),
        ("./src/../tests/test_a.py", "write", False, "existing tests"),
        ("/workspace/src/a.py", "write", True, ""),
        ("../etc/passwd", "read", False, ".."),
        (".git/config", "read", False, ".git"),
        ("keys/a", "read", False, "keys/**"),
        ("keys/a", "write", False, "keys/**"),
        ("docker build .", "command", False, "docker"),
        ("make", "command", True, ""),
        ("packages.example.org:443", "host", True, "packages.example.org:443"),
        ("other.example.org:443", "host", False, ""),
        ("third.example.org:443", "host", False, "deny host:third.example.org:443"),
        ("nonsense", "host", False, ""),
        ("", "write", True, ""),
    ],
)
def test_what_a_path_command_or_host_would_get_is_told(text: str, kind: str, allowed: bool, rule: str) -> None:
    applied = policies.of_task(
        Policy(
            hidden=["keys/**"],
            network=["packages.example.org:443", "third.example.org:443"],
            rules=["deny host:third.example.org:443"],
        )
    )
    found = policy.trial(applied, BASE, text, kind)  # type: ignore[arg-type]
    assert (found.allowed, found.rule) == (allowed, rule)
