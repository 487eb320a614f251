"""The forms of a repository: adding a source, and what is done with it."""

from typing import Any

from django import forms

from agents import secrets
from agents.forms.fields import COMMAND_LENGTH, COMMANDS, HOST_LENGTH, HOSTS, PLAIN, Form, Lines
from workspaces import sources, targets
from workspaces.models import Repository


class RepositoryAddForm(Form):
    """A source to mirror. `clean_source` leaves it normalised."""

    source = forms.CharField(
        max_length=2000,
        label="Source",
        help_text="A folder on the server, or a URL by https, ssh or file",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True}),
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


class Unshown(forms.Textarea):
    """A text that never goes back to the page."""

    def format_value(self, value: Any) -> str:
        return ""


class SecretForm(Form):
    """A secret to set or replace; agents.secrets checks it. The page never shows a value, not even a wrong one."""

    name = forms.CharField(
        max_length=200,
        label="Name",
        help_text="The variable that commands read, as in NPM_TOKEN",
        widget=forms.TextInput(attrs={**PLAIN, "autocapitalize": "off"}),
    )
    value = forms.CharField(
        max_length=2 * secrets.MOST,
        strip=False,
        label="Value",
        help_text=f"{secrets.LEAST} to {secrets.MOST:,} characters; lines are fine, as of a key. Stored encrypted, "
        "never shown again",
        widget=Unshown(attrs={"rows": 3, **PLAIN}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="secret_%s", **kwargs)


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
        item_length=HOST_LENGTH,
        rows=3,
        label="Hosts that set-up may reach",
        help_text="One host:port a line, as in packages.example.org:443. Private addresses are always refused",
    )
    verify = Lines(
        most=COMMANDS,
        item_length=COMMAND_LENGTH,
        label="Verify commands",
        help_text="One a line. Sakura runs them itself before work counts as done",
    )
    credential = forms.CharField(
        required=False,
        max_length=4000,
        label="New credential",
        help_text="Empty keeps what is stored",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )

    def clean_setup_hosts(self) -> list[str]:
        """Return the hosts in the form that requests have; each that can't be one is named."""
        found, faults = [], []
        for host in self.cleaned_data["setup_hosts"]:
            try:
                found.append(targets.public(host))
            except targets.BadTarget as bad:
                faults.append(str(bad))
        if faults:
            raise forms.ValidationError(faults)
        return found
