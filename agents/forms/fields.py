"""What forms are made of: a form with our classes, lists of lines, amounts within a budget's bounds."""

import re
from typing import Any

from annotated_types import Ge, Le
from django import forms
from pydantic import ValidationError as BadShape

from agents import secret_rules
from agents.blocklist import BadRule
from agents.models import Budgets

COMMANDS, HOSTS, RULES = 20, 50, 200
SECRET_LINES = 100
COMMAND_LENGTH, HOST_LENGTH, RULE_LENGTH = 2000, 260, 400
PLAIN = {"class": "mono", "autocomplete": "off", "spellcheck": "false"}


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


class SecretUses(Lines):
    """Which commands get which secrets: one "NAME: command" a line, a name as often as needed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(most=SECRET_LINES, item_length=RULE_LENGTH + 102, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return "\n".join(f"{use['name']}: {rule}" for use in value for rule in use["commands"])

    def clean(self, value: Any) -> Any:
        """Return what Policy takes. Every line that can't be read is told with what is wrong with it."""
        found: dict[str, list[str]] = {}
        faults = []
        for number, line in enumerate(super().clean(value), 1):
            name, colon, rule = (part.strip() for part in line.partition(":"))
            try:
                if not (colon and rule and re.fullmatch(secret_rules.NAME, name)):
                    raise BadRule("write the secret's name, a colon and a command, as in NPM_TOKEN: npm publish *.")
                secret_rules.check(rule)
                found.setdefault(name, []).append(rule)
            except BadRule as error:
                faults.append(f"Line {number}: {error}")
        if faults:
            raise forms.ValidationError(faults)
        return [{"name": name, "commands": rules} for name, rules in found.items()]


class Amount(forms.IntegerField):
    """A whole number within the bounds that Budgets gives its field; thousands may stand apart."""

    def __init__(self, budget: str, per: int = 1, **kwargs: Any) -> None:
        low, high = bounds(budget)
        super().__init__(
            min_value=-(-int(low) // per),
            max_value=int(high) // per,
            initial=Budgets.model_fields[budget].default // per,
            widget=forms.TextInput(attrs={"class": "num", "inputmode": "numeric", "autocomplete": "off"}),
            error_messages=bound_messages(-(-int(low) // per), int(high) // per),
            **kwargs,
        )

    def to_python(self, value: Any) -> int | None:
        return super().to_python(str(value).translate({ord(mark): None for mark in ", _’'\u202f\xa0"}))

    def prepare_value(self, value: Any) -> Any:
        return f"{value:,}" if isinstance(value, int) else value


def bound_messages(low: float, high: float) -> dict[str, str]:
    return {
        "required": f"Give a number from {low:,} to {high:,}.",
        "invalid": f"This is no number; give one from {low:,} to {high:,}.",
        "min_value": f"At least {low:,}.",
        "max_value": f"At most {high:,}.",
    }


def bounds(budget: str) -> tuple[float, float]:
    """Return the least and the most that Budgets takes for the field."""
    marks = Budgets.model_fields[budget].metadata
    low: Any = next(mark.ge for mark in marks if isinstance(mark, Ge))
    high: Any = next(mark.le for mark in marks if isinstance(mark, Le))
    return float(low), float(high)
