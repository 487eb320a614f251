"""The forms of people and what lets them in: log-in, password, tokens, users and their roles."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password

from agents.forms.fields import Form
from agents.models import Role

TOKEN_DAYS = (7, 30, 90, 365)


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
