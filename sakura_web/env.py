"""Typed reading of environment variables; `settings` is its only caller."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """Return NAME, or the stripped content of the file that NAME_FILE names.

    Raises ImproperlyConfigured when the file can't be read or both are set.
    """
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name, default)
    if name in os.environ:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one.")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE={path} can't be read: {error.strerror}.") from error


def flag(name: str) -> bool:
    """Return whether NAME is a word for yes; absent means no."""
    word = text(name).strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name}={word!r} is neither yes nor no; use 1 or 0.")


def number(name: str, default: int, at_least: int, at_most: int) -> int:
    """Return NAME as a whole number within the bounds."""
    word = text(name, str(default))
    try:
        value = int(word)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={word!r} is no whole number.") from None
    if not at_least <= value <= at_most:
        raise ImproperlyConfigured(f"{name}={value} must lie between {at_least} and {at_most}.")
    return value


def numbers(prefix: str) -> dict[str, int]:
    """Return all variables that begin so, as whole numbers from 1, by the rest of their names in small letters."""
    found = (name for name in os.environ if name.startswith(prefix) and len(name) > len(prefix))
    return {name.removeprefix(prefix).lower(): number(name, 1, 1, 2**40) for name in found}


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """Return NAME, which must be one of the choices."""
    value = text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r} must be one of {', '.join(choices)}.")
    return value


def folder(name: str, default: Path) -> Path:
    """Return NAME as an absolute folder, `~` and links resolved; it need not be there."""
    word = text(name, str(default))
    try:
        return Path(word).expanduser().resolve()
    except (RuntimeError, OSError, ValueError) as error:
        why = str(error).rstrip(".")
        raise ImproperlyConfigured(f"{name}={word!r} names no folder: {why}.") from None


def paths(name: str) -> list[Path]:
    """Return the absolute folders of a colon-separated list."""
    found = [Path(part).expanduser() for part in text(name).split(":") if part]
    for path in found:
        if not path.is_absolute():
            raise ImproperlyConfigured(f"{name}: {path} must be an absolute path.")
    return found


def words(name: str) -> list[str]:
    """Return the non-empty lines (or semicolon-separated parts) of NAME."""
    return [part.strip() for part in text(name).replace(";", "\n").split("\n") if part.strip()]
