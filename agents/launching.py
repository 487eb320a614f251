"""Checking what somebody asks for before a task is made of it: one set of rules for the form and the API."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agents import policies, secrets
from agents.control import Refused
from agents.models import Budgets, Policy, Task
from agents.models.task import SCRIPTED
from agents.providers import models
from agents.providers.scripted import validate_script
from workspaces import sources
from workspaces.models import Repository

PROMPT_LIMIT = 200_000

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Prompt = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=PROMPT_LIMIT)]


class WrongField(Refused):
    """What is wrong with one field of what was asked for, in a sentence."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__("INVALID_INPUT", f"{field}: {sentence}", 422)
        self.field = field
        self.sentence = sentence


class Launch(BaseModel):
    """A task as it is asked for; what is left out takes the installation's defaults."""

    model_config = ConfigDict(extra="forbid")

    repository: int | str = Field(description="The repository's id or name.")
    title: Title
    prompt: Prompt
    base: str = Field("", max_length=250, description="A branch, tag or commit; the default branch if left out.")
    model: str = Field("", max_length=100, description="A configured model; the default one if left out.")
    toolset: Task.Toolset = Task.Toolset.STANDARD
    script: dict[str, Any] | None = Field(None, description="What the model “scripted” plays, agent by agent.")
    policy: Policy = Field(default_factory=Policy)
    budgets: Budgets = Field(default_factory=Budgets)
    max_rounds: int = Field(3, ge=1, le=10)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the task to be, for control.launch. Asks the source for news: up to a minute.

        Raises Refused, whose message names the field, or SourceError for the base.
        """
        repository = find_repository(self.repository)
        model = self._model()
        if wrong := secrets.unknown(repository, self.policy.secrets):
            raise WrongField("policy.secrets", wrong)
        base_name, base_commit = resolve_base(repository, self.base)
        check_policy(repository, base_commit)
        return {
            "repository": repository,
            "title": self.title,
            "prompt": self.prompt,
            "base_name": base_name,
            "base_commit": base_commit,
            "model": model,
            "toolset": self.toolset,
            "script": self.script,
            "policy": self.policy.model_dump(),
            "budgets": self.budgets.model_dump(),
            "max_rounds": self.max_rounds,
        }

    def _model(self) -> str:
        model = chosen_model(self.model, has_script=self.script is not None)
        if self.script is not None and (complaints := validate_script(self.script)):
            raise WrongField("script", " ".join(complaints))
        return model


def chosen_model(name: str, *, has_script: bool) -> str:
    """Return the model that a task gets; an empty name means `scripted` with a script, else the default one.

    Raises WrongField.
    """
    if has_script and name not in ("", SCRIPTED):
        raise WrongField("model", f"a script is played by “{SCRIPTED}” only; leave out the model or the script.")
    if has_script:
        return SCRIPTED
    if name == SCRIPTED:
        raise WrongField("script", f"the model “{SCRIPTED}” plays a script, and none is given.")
    return _usable_model(name)


def _usable_model(name: str) -> str:
    """Return the name of a model that can be asked now; empty means the default one."""
    chosen = name or models.default_model()
    if chosen is None:
        raise WrongField("model", "no model can be used: set a key such as ANTHROPIC_API_KEY, or give a script.")
    info = models.find(chosen)
    if info is None:
        known = ", ".join(info.name for info in models.all_models())
        raise WrongField("model", f"there is no model “{chosen}”. There are: {known}.")
    availability = models.availability(info)
    if not availability.ok:
        raise WrongField("model", f"“{chosen}” can't be used: {availability.why}")
    return chosen


def find_repository(wanted: int | str) -> Repository:
    """Return the repository of this name or id, ready to be used. Raises Refused."""
    named = Repository.objects.filter(name=wanted).first() if isinstance(wanted, str) else None
    found = named or (Repository.objects.filter(pk=int(wanted)).first() if str(wanted).isdecimal() else None)
    if found is None:
        raise WrongField("repository", f"there is no repository “{wanted}”.")
    if found.status != Repository.Status.READY:
        why = found.error or "its mirror is still being made; try again in a moment."
        raise Refused("NOT_READY", f"repository: “{found.name}” is not ready: {why}")
    return found


def resolve_base(repository: Repository, name: str) -> tuple[str, str]:
    """Return the base's name and commit as the source has it now. Raises SourceError."""
    sources.refresh(repository)
    base = name.strip() or repository.default_branch
    return base, sources.resolve(repository, base)


def check_policy(repository: Repository, commit: str) -> None:
    """Raise WrongField for the base where the repository's policy file there can't be read: nothing would hold it."""
    try:
        policies.at(repository, commit)
    except policies.PolicyFault as fault:
        raise WrongField("base", f"{policies.PATH} at this base is broken. {' '.join(fault.sentences)}") from None
