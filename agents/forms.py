"""What people fill in: each field checks itself, and the models' own bounds (Budgets, Policy) are the only ones."""

import json
from typing import Any, cast

from annotated_types import Ge, Le
from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from pydantic import ValidationError as BadShape

from agents.encoding import safe, safe_text
from agents.launching import PROMPT_LIMIT, SCRIPTED
from agents.models import Budgets, Policy, Role, Task
from agents.providers import models
from agents.providers.scripted import validate_script
from workspaces import sources
from workspaces.models import Repository

SCRIPT_BYTES = 2_000_000
COMMANDS, HOSTS, COMMAND_LENGTH = 20, 50, 2000
BUDGET_FIELDS = {
    "steps": "steps",
    "seconds": "minutes",
    "tokens": "tokens",
    "usd": "usd",
    "files": "max_files",
    "lines": "max_lines",
}
"""Each budget and the field of the form that asks for it."""
PLAIN = {"class": "mono", "autocomplete": "off", "spellcheck": "false"}
TOKEN_DAYS = (7, 30, 90, 365)


class Form(forms.Form):
    """A form whose controls carry our classes; Django names their errors and hints for assistive technology."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            _dress(field.widget)

    @property
    def error_count(self) -> int:
        return sum(len(errors) for errors in self.errors.values())

    def add_shape_errors(self, error: BadShape, names: dict[str, str] | None = None) -> None:
        """Put the errors of a pydantic model on the fields; `names` maps its fields to ours where they differ."""
        for detail in error.errors():
            name = str(detail["loc"][0])
            self.add_error((names or {}).get(name, name), detail["msg"])


def _dress(widget: forms.Widget) -> None:
    choices = forms.RadioSelect | forms.CheckboxSelectMultiple | forms.CheckboxInput | forms.HiddenInput
    if not isinstance(widget, choices):
        widget.attrs["class"] = f"input {widget.attrs.get('class', '')}".strip()


class Lines(forms.CharField):
    """A list, one item a line; blank lines count for nothing."""

    def __init__(self, *, most: int, item_length: int, rows: int = 4, **kwargs: Any) -> None:
        attrs = {"rows": rows, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        super().__init__(required=False, widget=forms.Textarea(attrs=attrs), max_length=most * item_length, **kwargs)
        self.most, self.item_length = most, item_length

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        items = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(items) > self.most:
            raise forms.ValidationError(f"{len(items)} lines; at most {self.most} are taken.")
        for number, item in enumerate(items, 1):
            if len(item) > self.item_length:
                raise forms.ValidationError(f"Item {number} has {len(item)} characters; at most {self.item_length}.")
        return items


class Amount(forms.IntegerField):
    """A whole number within the bounds that Budgets gives its field; thousands may stand apart."""

    def __init__(self, budget: str, per: int = 1, **kwargs: Any) -> None:
        low, high = _bounds(budget)
        super().__init__(
            min_value=-(-int(low) // per),
            max_value=int(high) // per,
            initial=Budgets.model_fields[budget].default // per,
            widget=forms.TextInput(attrs={"class": "num", "inputmode": "numeric", "autocomplete": "off"}),
            error_messages=_bound_messages(-(-int(low) // per), int(high) // per),
            **kwargs,
        )

    def to_python(self, value: Any) -> int | None:
        return super().to_python(str(value).translate({ord(mark): None for mark in ", _’'\u202f\xa0"}))

    def prepare_value(self, value: Any) -> Any:
        return f"{value:,}" if isinstance(value, int) else value


def _bound_messages(low: float, high: float) -> dict[str, str]:
    return {
        "required": f"Give a number from {low:,} to {high:,}.",
        "invalid": f"This is no number; give one from {low:,} to {high:,}.",
        "min_value": f"At least {low:,}.",
        "max_value": f"At most {high:,}.",
    }


def _bounds(budget: str) -> tuple[float, float]:
    """Return the least and the most that Budgets takes for the field."""
    marks = Budgets.model_fields[budget].metadata
    low = next(mark.ge for mark in marks if isinstance(mark, Ge))
    high = next(mark.le for mark in marks if isinstance(mark, Le))
    return float(low), float(high)  # type: ignore[arg-type]


class LoginForm(Form):
    """Name and password."""

    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}),
    )
    password = forms.CharField(
        max_length=1000, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class TaskForm(Form):
    """A new task. `clean` leaves `policy`, `budgets` and `script` in cleaned_data as Task keeps them."""

    repository = forms.ModelChoiceField(Repository.objects.none(), empty_label=None)
    base = forms.CharField(
        required=False,
        max_length=250,
        help_text="Branch, tag or commit; the default branch if left empty",
        widget=forms.TextInput(
            attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false", "list": "branches"}
        ),
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
        min_value=_bounds("usd")[0],
        max_value=_bounds("usd")[1],
        initial="5.00",
        error_messages=_bound_messages(*_bounds("usd")),
        widget=forms.TextInput(attrs={"class": "num", "inputmode": "decimal", "autocomplete": "off"}),
    )
    max_files = Amount("files", label="Changed files")
    max_lines = Amount("lines", label="Changed lines")
    verify = Lines(
        most=20,
        item_length=COMMAND_LENGTH,
        label="Verify commands",
        help_text="One a line. The team must see them pass before it says done",
    )
    protected = Lines(
        most=200,
        item_length=400,
        label="Protected paths",
        help_text="One glob a line, as in .github/**. No agent writes there",
    )
    network = Lines(
        most=50,
        item_length=260,
        rows=3,
        label="Network",
        help_text="One host:port a line. Empty: commands have no network",
    )
    blocklist = Lines(
        most=200,
        item_length=400,
        rows=3,
        label="Blocked commands",
        help_text="One rule a line, as in run_command(npm publish *)",
    )
    once = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, repositories: QuerySet[Repository], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["repository"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = repositories
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
        if script is not None and chosen in ("", SCRIPTED):
            data["model"] = SCRIPTED
        elif script is not None:
            self.add_error("model", f"A script is played by “{SCRIPTED}” only: choose it, or empty the script.")
        elif chosen == SCRIPTED:
            self.add_error("script", f"The model “{SCRIPTED}” plays a script, and none is given.")
        elif why := _unusable(chosen):
            self.add_error("model", why)

    def _clean_policy(self, data: dict[str, Any]) -> None:
        try:
            policy = Policy(**{name: data[name] for name in Policy.model_fields if name in data})
        except BadShape as error:
            self.add_shape_errors(error)
            return
        data["policy"] = safe(policy.model_dump())

    def _clean_budgets(self, data: dict[str, Any]) -> None:
        given = {budget: data[field] for budget, field in BUDGET_FIELDS.items() if data.get(field) is not None}
        if "seconds" in given:
            given["seconds"] *= 60
        try:
            data["budgets"] = Budgets(**given).model_dump()
        except BadShape as error:
            self.add_shape_errors(error, BUDGET_FIELDS)


def _unusable(name: str) -> str:
    """Return why the model can't be asked now, or ""."""
    info = models.find(name) if name else None
    if info is None:
        return "Choose a model."
    return models.availability(info).why if not models.availability(info).ok else ""


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
    if complaints := validate_script(script):
        raise forms.ValidationError(complaints)
    checked: dict[str, Any] = safe(script)
    return checked


class RepositoryAddForm(Form):
    """A source to mirror. `clean_source` leaves it normalised."""

    source = forms.CharField(
        max_length=2000,
        label="Source",
        help_text="A folder on the server, or a URL by https, ssh or file",
        widget=forms.TextInput(
            attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false", "autofocus": True}
        ),
    )
    name = forms.CharField(max_length=100, required=False, help_text="From the source if left empty")
    credential = forms.CharField(
        required=False,
        max_length=4000,
        label="Credential",
        help_text="For a private https source: a token, or user:token. Stored encrypted, sent to this server only",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, is_admin: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_admin = is_admin

    def clean_source(self) -> str:
        try:
            source: str = sources.check_source(self.cleaned_data["source"], is_admin=self.is_admin)
        except sources.SourceError as error:
            raise forms.ValidationError(str(error)) from error
        return source

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if "source" not in data or "name" in self.errors:
            return data
        data["name"] = data.get("name") or _name_of(data["source"])
        if Repository.objects.filter(name=data["name"]).exists():
            self.add_error("name", f"There is a repository “{data['name']}” already; choose another name.")
        if data.get("credential") and not data["source"].startswith("https://"):
            self.add_error("credential", "Only an https source takes a credential; empty it.")
        return data


def _name_of(source: str) -> str:
    last = source.rstrip("/").replace(":", "/").rsplit("/", 1)[-1]
    return last.removesuffix(".git")[:100] or "repository"


class RepositoryForm(Form):
    """What Sakura does with a repository: how it is set up and what proves a task done."""

    setup = Lines(
        most=COMMANDS,
        item_length=COMMAND_LENGTH,
        label="Set-up commands",
        help_text="One a line. Run once for each state of the lock files, in the sandbox",
    )
    setup_hosts = Lines(
        most=HOSTS,
        item_length=260,
        rows=3,
        label="Hosts that set-up may reach",
        help_text="One host:port a line, as in pypi.org:443",
    )
    verify = Lines(
        most=COMMANDS,
        item_length=COMMAND_LENGTH,
        label="Verify commands",
        help_text="One a line. A team must see them pass before it says done",
    )
    credential = forms.CharField(
        required=False,
        max_length=4000,
        label="New credential",
        help_text="Empty keeps what is stored",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


class TokenForm(Form):
    """An API token to be: never more roles than its user has."""

    name = forms.CharField(max_length=100, label="What it is for")
    roles = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    days = forms.TypedChoiceField(
        label="Expires after", coerce=int, choices=[(days, f"{days} days") for days in TOKEN_DAYS], initial=90
    )

    def __init__(self, *args: Any, held: frozenset[Role], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = self.fields["roles"]
        assert isinstance(roles, forms.MultipleChoiceField)
        roles.choices = [(role.value, role.value) for role in Role if role in held]
        roles.initial = [role.value for role in Role if role in held]


class PasswordForm(Form):
    """A new password of one's own."""

    password = forms.CharField(
        max_length=1000,
        strip=False,
        label="New password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, self.user)
        return password


class UserForm(Form):
    """A user and the roles they have; `user` says whom it changes, none adds one."""

    username = forms.CharField(
        max_length=150,
        label="Name",
        validators=[User.username_validator],
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    roles = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, choices=[(role.value, role.value) for role in Role]
    )
