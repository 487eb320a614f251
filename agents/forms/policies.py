"""The form of a repository's policy page: the text of the file, and what somebody wants to try under it."""

from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from agents import policy_file
from agents.forms.fields import Form
from agents.policies import FilePolicy, PolicyFault
from agents.policy_file import TRIES, TRY_LENGTH, Try

FAULTS = 20
_CODE = {"class": "mono", "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}


class Text(forms.CharField):
    """Lines of text, kept byte for byte but for line ends; who reads them says in which line a NUL stands."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, strip=False, **kwargs)
        self.validators = [each for each in self.validators if not isinstance(each, ProhibitNullCharactersValidator)]

    def to_python(self, value: Any) -> str:
        return policy_file.one_ending(super().to_python(value) or "")


class PolicyForm(Form):
    """A policy to check, try or propose. `file` is what a text without faults says."""

    text = Text(label="Policy", widget=forms.Textarea(attrs={"rows": 24, **_CODE, "wrap": "off"}))
    tries = Text(
        label="Try",
        max_length=TRIES * (TRY_LENGTH + 20),
        help_text=f"One a line, {TRIES} at most: read, write, command or host, then what it is about",
        widget=forms.Textarea(
            attrs={
                "rows": 5,
                **_CODE,
                "placeholder": "write tests/test_x.py\nread .env\ncommand rm -rf build\nhost packages.example.org:443",
            }
        ),
    )
    file: FilePolicy | None = None

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        try:
            self.file = policy_file.check(text)
        except PolicyFault as fault:
            raise forms.ValidationError(fault.sentences) from fault
        return text

    def clean_tries(self) -> list[Try]:
        """Return what is to be tried. Each line that can't be is told with its number."""
        found: list[Try] = []
        faults: list[str] = []
        for number, line in enumerate(self.cleaned_data["tries"].split("\n"), 1):
            if not line.strip():
                continue
            try:
                found.append(policy_file.read_try(line))
            except ValueError as error:
                faults.append(f"Line {number}: {error}")
        if len(found) + len(faults) > TRIES:
            raise forms.ValidationError(f"{len(found) + len(faults):,} lines; at most {TRIES} are tried.")
        if faults:
            raise forms.ValidationError(faults[:FAULTS])
        return found
