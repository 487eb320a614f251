"""What an agent may do in its workspace: the default rules, the task's own, and who it is."""

from dataclasses import dataclass

from django.conf import settings

from agents import blocklist
from agents.models import Agent, Policy
from agents.tools.base import Rules, ToolError
from workspaces import globs
from workspaces.paths import is_git

NEVER_WRITTEN = ("**/.sakura/**",)
"""Instructions to agents: an agent reads them, people write them."""

_TOOLS = (".vscode", ".idea", ".claude", ".cursor", ".husky", ".devcontainer", ".githooks")
_SHELLS = "bashrc bash_profile bash_login bash_logout profile zshrc zshenv zprofile zlogin"
_BUILDS = (
    ".gitlab-ci.yml",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
)
_BUILD_FOLDERS = (".github/workflows", ".github/actions", ".circleci", ".woodpecker", ".buildkite")
WRITTEN_IF_TASK_SAYS = (
    *(f"**/{folder}/**" for folder in _TOOLS),
    *(".gitconfig", ".gitmodules", ".envrc", ".pre-commit-config.yaml"),
    *(f".{name}" for name in _SHELLS.split()),
    *(f"{folder}/**" for folder in _BUILD_FOLDERS),
    *_BUILDS,
)
"""What runs by itself on a person's machine, or with the project's rights, once the work is merged."""


@dataclass(frozen=True)
class TaskRules:
    """The rules of one agent on one task (the `Rules` of agents.tools.base). Paths are relative and posix."""

    agent: str
    protected: tuple[str, ...]
    allowed: tuple[str, ...]
    blocked: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    secrets_allowed: tuple[str, ...] = ()

    def hides(self, path: str) -> bool:
        return _rule_of(path, self.hidden) is not None

    def may_use(self, tool: str) -> None:
        """Raise DENIED, naming the rule, where one denies the tool itself."""
        if rule := blocklist.denied_tools(self.blocked).get(tool):
            raise ToolError("DENIED", f"{tool}: rule `{rule}` denies it whatever its input; go on without it.")

    def may_hold_secrets(self, path: str) -> bool:
        return _rule_of(path, self.secrets_allowed) is not None

    def may_write(self, path: str) -> None:
        """Raise DENIED for a reviewer, PROTECTED_PATH for a protected path, naming the rule."""
        if self.agent == Agent.REVIEWER:
            raise ToolError("DENIED", f"{path}: a reviewer changes nothing; say in the review what should change.")
        if is_git(path):
            _refuse(path, ".git", "file tools leave a repository's own files alone")
        self._hold(path, NEVER_WRITTEN, "agents read it, people write it")
        self._hold(path, self.protected, "the task protects it")
        if _rule_of(path, self.allowed) is None:
            self._hold(
                path, WRITTEN_IF_TASK_SAYS, "it runs by itself once the work is merged, so the task must allow it"
            )

    def _hold(self, path: str, rules: tuple[str, ...], why: str) -> None:
        if rule := _rule_of(path, rules):
            _refuse(path, rule, why)

    def may_read(self, path: str) -> None:
        """Raise PROTECTED_PATH for git's own files, DENIED for what the policy hides, naming the rule."""
        if is_git(path):
            _refuse(path, ".git", "file tools leave a repository's own files alone")
        if rule := _rule_of(path, self.hidden):
            raise ToolError("DENIED", f"{path}: rule `{rule}` hides it from agents; go on without it.")

    def may_run(self, command: str) -> None:
        """Raise BLOCKED_COMMAND, naming the rule, where a command in it fits the blocklist; the sandbox is the wall."""
        try:
            found = blocklist.hit(command, self.blocked)
        except blocklist.BadRule as error:
            raise ToolError(
                "BLOCKED_COMMAND",
                f"a rule of this task can't be read, so nothing runs until a person mends it: {error}",
            ) from error
        if found:
            raise ToolError("BLOCKED_COMMAND", f"rule `{found.rule}`: {found.instead}", {"rule": found.rule})


def _rule_of(path: str, rules: tuple[str, ...]) -> str | None:
    """Return the first rule that covers the path; that none does, as for nearly all, is one regex's word."""
    if not rules or not globs.covering(rules)(path):
        return None
    return next(rule for rule in rules if globs.matches(rule, path))


def _refuse(path: str, rule: str, why: str) -> None:
    raise ToolError(
        "PROTECTED_PATH", f"{path}: rule `{rule}`: {why}. Leave the file as it is and say so in your summary."
    )


def rules_for(policy: Policy, agent: str) -> Rules:
    """Return the rules of an agent on a task."""
    blocked = (*settings.SAKURA_COMMAND_BLOCKLIST, *policy.blocklist)
    return TaskRules(
        str(agent),
        tuple(policy.protected),
        tuple(policy.unprotected),
        blocked,
        tuple(policy.hidden),
        tuple(policy.secrets_allowed),
    )
