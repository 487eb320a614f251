"""The form of a new task."""

import json
from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.text import capfirst
from pydantic import ValidationError as BadShape

from agents import secrets
from agents.encoding import safe, safe_text
from agents.forms.fields import (
    COMMAND_LENGTH,
    COMMANDS,
    HOST_LENGTH,
    HOSTS,
    PLAIN,
    RULE_LENGTH,
    RULES,
    Amount,
    Form,
    Lines,
    SecretUses,
    bound_messages,
    bounds,
)
from agents.launching import PROMPT_LIMIT, WrongField, chosen_model
from agents.models import Budgets, Policy, Task
from agents.providers import models
from agents.providers.scripted import validate_script
from workspaces import odd
from workspaces.models import Repository

SCRIPT_BYTES = 2_000_000
BUDGET_FIELDS = {
    "steps": "steps",
    "seconds": "minutes",
    "tokens": "tokens",
    "usd": "usd",
    "files": "max_files",
    "lines": "max_lines",
}
"""Each budget and the field of the form that asks for it."""
RULES_LIKE = "deny effect:WRITE path:docs/legal/**\nallow command:docker build *"


class TaskForm(Form):
    """A new task. `clean` leaves `policy`, `budgets` and `script` in cleaned_data as Task keeps them."""

    repository = forms.ModelChoiceField(Repository.objects.none(), empty_label=None)
    base = forms.CharField(
        required=False,
        max_length=250,
        help_text="Branch, tag or commit; the default branch if left empty",
        widget=forms.TextInput(attrs={**PLAIN, "list": "branches"}),
    )
    title = forms.CharField(max_length=200, error_messages={"required": "Give the task a title."})
    prompt = forms.CharField(max_length=PROMPT_LIMIT, widget=forms.Textarea(attrs={"rows": 8}), help_text="Markdown")
    model = forms.ChoiceField(required=False, widget=forms.RadioSelect)
    script_file = forms.FileField(required=False, label="Script file", help_text="Takes the place of the text")
    script = forms.CharField(
        required=False,
        strip=False,
        max_length=SCRIPT_BYTES,
        help_text="JSON: a list of responses for each agent",
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
    )
    toolset = forms.ChoiceField(choices=Task.Toolset.choices, initial=Task.Toolset.STANDARD)
    max_rounds = forms.TypedChoiceField(
        label="Rounds at most",
        coerce=int,
        choices=[(count, str(count)) for count in (1, 2, 3, 5, 10)],
        initial=3,
        help_text="A round is the implementer’s work and its review",
    )
    steps = Amount("steps", help_text="Model responses, of both agents")
    minutes = Amount("seconds", per=60, label="Time")
    tokens = Amount("tokens")
    usd = forms.FloatField(
        label="Money",
        min_value=bounds("usd")[0],
        max_value=bounds("usd")[1],
        initial="5.00",
        error_messages=bound_messages(*bounds("usd")),
        widget=forms.TextInput(attrs={"class": "num", "inputmode": "decimal", "autocomplete": "off"}),
    )
    max_files = Amount("files", label="Changed files")
    max_lines = Amount("lines", label="Changed lines")
    verify = Lines(
        most=COMMANDS,
        item_length=COMMAND_LENGTH,
        label="Verify commands",
        help_text="One a line. Sakura runs them itself before the work counts as done",
    )
    protected = Lines(
        most=RULES,
        item_length=RULE_LENGTH,
        label="Protected paths",
        help_text="One glob a line, as in .github/**. No agent writes there",
    )
    may_change_tests = forms.BooleanField(
        required=False,
        label="The agents may change existing tests",
        help_text="Off: tests that exist at the base are kept as they are; new ones may be written",
    )
    rules = Lines(
        most=RULES,
        item_length=RULE_LENGTH,
        label="Ordered rules",
        help_text="One a line: allow or deny, then what it is about, by effect:, tool:, path:, host: or command:. The "
        "first that fits decides, before those of the repository and the defaults",
    )
    network = Lines(
        most=HOSTS,
        item_length=HOST_LENGTH,
        rows=3,
        label="Network",
        help_text="One host:port a line. Empty: commands have no network. Private addresses are always refused",
    )
    blocklist = Lines(
        most=RULES,
        item_length=RULE_LENGTH,
        rows=3,
        label="Blocked commands",
        help_text="One rule a line, as in npm publish *; the name of a tool denies it",
    )
    hidden = Lines(
        most=RULES,
        item_length=RULE_LENGTH,
        rows=3,
        label="Hidden paths",
        help_text="One glob a line, as in secrets/**. No agent sees what is there, nor the history of the repository",
    )
    secrets_allowed = Lines(
        most=RULES,
        item_length=RULE_LENGTH,
        rows=3,
        label="Paths that may hold secrets",
        help_text="One glob a line, as in tests/fixtures/**. Elsewhere no agent writes a key or token",
    )
    secrets = SecretUses(
        rows=3,
        label="Secrets for single commands",
        help_text="One NAME: command a line, as in NPM_TOKEN: npm publish *. Only that command gets it",
    )
    once = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, repositories: QuerySet[Repository], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rules"].widget.attrs["placeholder"] = RULES_LIKE
        choice = self.fields["repository"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = repositories
        choice.label_from_instance = lambda obj: odd.spelled(str(obj))  # type: ignore[method-assign]
        choice.error_messages["invalid_choice"] = "This repository is not there, or not ready yet."
        model = self.fields["model"]
        assert isinstance(model, forms.ChoiceField)
        model.choices = [(info.name, info.name) for info in models.all_models()]
        model.error_messages["invalid_choice"] = "There is no model “%(value)s”."

    def clean_script_file(self) -> None:
        """Put the file's text in the place of the typed one, where it stays when the form comes back."""
        upload = self.cleaned_data["script_file"]
        if upload is not None:
            text = _uploaded(upload)
            self.data = MultiValueDict({**dict(cast(QueryDict, self.data).lists()), "script": [text]})

    def clean_script(self) -> dict[str, Any] | None:
        text: str = self.cleaned_data["script"]
        return _script(text) if text.strip() else None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self._clean_model(data)
        self._clean_policy(data)
        self._clean_budgets(data)
        data["title"], data["prompt"] = safe_text(data.get("title", "")), safe_text(data.get("prompt", ""))
        return data

    def _clean_model(self, data: dict[str, Any]) -> None:
        if {"model", "script", "script_file"} & set(self.errors):
            return
        script, chosen = data.get("script"), data.get("model") or ""
        if script is None and not chosen:
            self.add_error("model", "Choose a model.")
            return
        try:
            data["model"] = chosen_model(chosen, has_script=script is not None)
        except WrongField as wrong:
            self.add_error(wrong.field, capfirst(wrong.sentence))

    def _clean_policy(self, data: dict[str, Any]) -> None:
        try:
            policy = Policy(**{name: data[name] for name in Policy.model_fields if name in data})
        except BadShape as error:
            self._add_policy_errors(error)
            return
        if isinstance(data.get("repository"), Repository) and (
            wrong := secrets.unknown(data["repository"], policy.secrets)
        ):
            self.add_error("secrets", wrong)
            return
        data["policy"] = safe(policy.model_dump())

    def _add_policy_errors(self, error: BadShape) -> None:
        """Put what is wrong with the policy on its fields, each with the line that was typed."""
        for detail in error.errors():
            name, *place = detail["loc"]
            line = self._line(str(name), place[0]) if place and isinstance(place[0], int) else ""
            self.add_error(str(name), f"{line}{detail['msg']}")

    def _line(self, name: str, place: int) -> str:
        """Return words for the line where an entry of a list stands; blank ones count, as an editor counts them."""
        if type(self.fields[name]) is not Lines:
            return ""
        lines = str(self[name].value() or "").splitlines()
        numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
        return f"Line {numbers[place]}: " if place < len(numbers) else ""

    def _clean_budgets(self, data: dict[str, Any]) -> None:
        given = {budget: data[field] for budget, field in BUDGET_FIELDS.items() if data.get(field) is not None}
        if "seconds" in given:
            given["seconds"] *= 60
        try:
            data["budgets"] = Budgets(**given).model_dump()
        except BadShape as error:
            self.add_shape_errors(error, BUDGET_FIELDS)


def _uploaded(upload: "UploadedFile[bytes]") -> str:
    size = upload.size or 0
    if size > SCRIPT_BYTES:
        raise forms.ValidationError(f"The file has {size:,} bytes; at most {SCRIPT_BYTES:,} are taken.")
    try:
        return bytes(upload.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise forms.ValidationError(f"The file is not UTF-8 (byte {error.start}).") from error


def _script(text: str) -> dict[str, Any]:
    try:
        script = json.loads(text)
    except json.JSONDecodeError as error:
        raise forms.ValidationError(f"Not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from error
    except RecursionError as error:
        raise forms.ValidationError("The JSON is nested too deep.") from error
    except ValueError as error:  # Python reads no number of thousands of digits
        raise forms.ValidationError("The JSON holds a number that is too long.") from error
    if complaints := validate_script(script):
        raise forms.ValidationError(complaints)
    checked: dict[str, Any] = safe(script)
    return checked
