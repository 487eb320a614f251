"""A task: what a person asks for."""

from collections.abc import Callable
from typing import Annotated, Final

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.text import slugify
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from agents import blocklist, rules, secret_rules
from workspaces import globs, targets
from workspaces.models import Repository

SCRIPTED: Final = "scripted"
"""The model that plays a script."""


class Budgets(BaseModel):
    """What a run may use before it stops in a reviewable state."""

    model_config = ConfigDict(extra="forbid")

    steps: int = Field(60, ge=1, le=2000)
    seconds: int = Field(2700, ge=10, le=86_400)
    tokens: int = Field(1_000_000, ge=1000, le=100_000_000)
    usd: float = Field(5.0, ge=0.01, le=1000)
    files: int = Field(200, ge=1, le=10_000)
    lines: int = Field(5000, ge=1, le=1_000_000)


STORED: Final = {"stored": True}
"""Said of a policy from the database: its rules were read when it was made, and a later version may read others."""


def _rule_for(check: Callable[[str], object]) -> AfterValidator:
    """Return what refuses a rule for which `check` raises BadRule, where it was typed."""

    def checked(text: str, info: ValidationInfo) -> str:
        if info.context != STORED:
            try:
                check(text)
            except blocklist.BadRule as error:
                raise PydanticCustomError("bad_rule", "{reason}", {"reason": str(error)}) from error
        return text

    return AfterValidator(checked)


def _glob(text: str, info: ValidationInfo) -> str:
    """Refuse a glob that fits nothing, or that can't be read."""
    if info.context != STORED and (reason := _glob_fault(text)):
        raise PydanticCustomError("bad_glob", "{reason}", {"reason": reason})
    return text


def _glob_fault(text: str) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in text[:100])
    if not text.strip().strip("/"):
        return "A glob is empty; write a path of the repository, as in docs/** or *.pem."
    if len(text) > blocklist.RULE_LENGTH:
        return f"`{shown}…`: it has {len(text)} characters; at most {blocklist.RULE_LENGTH} are taken."
    if not text.isprintable():
        return f"`{shown}`: it holds a character that can't be seen."
    if ".." in text.split("/"):
        return f"`{shown}`: paths start at the root of the repository; leave out `..`."
    try:
        globs.compiled(text.strip("/"), ignore_case=True)
    except globs.GlobError as error:
        return f"`{shown}`: {error.message}"
    return ""


def _target(text: str, info: ValidationInfo) -> str:
    """Refuse what is no host:port, or one that no command ever reaches; return it in the form that requests have."""
    if info.context == STORED:
        return text
    try:
        return targets.public(text.strip())
    except targets.BadTarget as error:
        raise PydanticCustomError("bad_target", "{reason}", {"reason": str(error)}) from error


Target = Annotated[str, AfterValidator(_target)]
Rule = Annotated[str, _rule_for(blocklist.read_rule)]
OrderedRule = Annotated[str, _rule_for(rules.read)]
SecretRule = Annotated[str, _rule_for(secret_rules.check)]
Glob = Annotated[str, AfterValidator(_glob)]


class SecretUse(BaseModel):
    """A secret of the repository, and the commands that get it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=f"^{secret_rules.NAME}$", description="The variable that holds it.")
    commands: list[SecretRule] = Field(min_length=1, max_length=20, description="Rules, as in `npm publish *`.")


class Policy(BaseModel):
    """What the agents of a task may do, on top of the defaults."""

    model_config = ConfigDict(extra="forbid")

    verify: list[str] = Field(default_factory=list, max_length=20)
    protected: list[Glob] = Field(default_factory=list, max_length=200)
    unprotected: list[Glob] = Field(default_factory=list, max_length=200)
    may_change_tests: bool = Field(False, description="Whether tests that exist at the base may be changed.")
    rules: list[OrderedRule] = Field(
        default_factory=list,
        max_length=200,
        description="`allow` or `deny` and what it is about: effect:, tool:, path:, host:, command:. The first that "
        "fits decides, before those of the repository and the defaults.",
    )
    network: list[Target] = Field(
        default_factory=list, max_length=50, description="host:port that commands may reach; empty: no network."
    )
    blocklist: list[Rule] = Field(default_factory=list, max_length=200)
    hidden: list[Glob] = Field(
        default_factory=list,
        max_length=200,
        description="Globs of paths that no agent may see; their git then has the base alone, without history.",
    )
    secrets_allowed: list[Glob] = Field(
        default_factory=list,
        max_length=200,
        description="Globs of paths, such as fixtures, that may hold what looks like a secret.",
    )
    secrets: list[SecretUse] = Field(
        default_factory=list, max_length=20, description="Secrets of the repository that single commands get."
    )


class Task(models.Model):
    """What a person asks for: repository, base, prompt, model, toolset, policy, budgets."""

    class Toolset(models.TextChoices):
        MINIMAL = "minimal"
        STANDARD = "standard"
        FULL = "full"

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="tasks")
    title = models.CharField(max_length=200)
    prompt = models.TextField()
    base_name = models.CharField(max_length=250)
    base_commit = models.CharField(max_length=40)
    model = models.CharField(max_length=100)
    toolset = models.CharField(max_length=10, choices=Toolset.choices, default=Toolset.STANDARD)
    script = models.JSONField(null=True, blank=True, help_text="What the scripted model plays.")
    policy = models.JSONField(default=dict)
    budgets = models.JSONField(default=dict)
    max_rounds = models.PositiveSmallIntegerField(default=3, validators=[MinValueValidator(1), MaxValueValidator(10)])
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["created_at"])]

    def __str__(self) -> str:
        return self.title

    @property
    def is_scripted(self) -> bool:
        return self.model == SCRIPTED

    @property
    def branch(self) -> str:
        """The branch that approval makes: sakura/<task>-<slug>."""
        slug = slugify(self.title)[:40].strip("-") or "task"
        return f"sakura/{self.pk}-{slug}"

    def rules(self) -> Policy:
        return Policy.model_validate(self.policy, context=STORED)

    def limits(self) -> Budgets:
        return Budgets.model_validate(self.budgets)
