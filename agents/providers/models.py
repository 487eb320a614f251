"""The models that can be asked: built-in defaults, what SAKURA_MODELS adds, and whether their keys are there."""

import ipaddress
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agents.models.task import SCRIPTED
from agents.providers.base import Provider, ProviderError, Trouble, Usage
from agents.providers.scripted import ScriptedProvider

MAX_FILE_BYTES = 1_000_000
MILLION = Decimal(1_000_000)
KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
MODULES = {"anthropic": "agents.providers.anthropic_api", "openai": "agents.providers.openai_api"}


class Prices(BaseModel):
    """US dollars for a million tokens; what reading and writing the cache costs is the input price if not given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Decimal = Field(Decimal(0), ge=0)
    output: Decimal = Field(Decimal(0), ge=0)
    cached: Decimal | None = Field(None, ge=0)
    cache_write: Decimal | None = Field(None, ge=0)


class ModelInfo(BaseModel):
    """A model as SAKURA_MODELS describes it.

    `options` are fields sent with every request as they stand (thinking, reasoning_effort, temperature …);
    `replay_reasoning` sends reasoning back to servers that insist on it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    provider: Literal["anthropic", "openai", "scripted"]
    id: str = Field(min_length=1, max_length=200)
    base_url: str = ""
    key_variable: str = ""
    context_window: int = Field(128_000, ge=1000)
    max_output_tokens: int = Field(16_000, ge=1)
    prices: Prices = Prices()
    sees_images: bool = False
    replay_reasoning: bool = False
    options: dict[str, JsonValue] = {}

    @property
    def is_scripted(self) -> bool:
        return self.provider == SCRIPTED

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""


@dataclass(frozen=True)
class Availability:
    """Whether a model can be asked; `why` says what is missing and how to get it."""

    ok: bool
    why: str = ""


def all_models() -> list[ModelInfo]:
    """Return every known model: SAKURA_MODELS first, then the built-in ones, `scripted` last.

    Raises ImproperlyConfigured, with line and reason, when SAKURA_MODELS can't be used.
    """
    return list(_models(settings.SAKURA_MODELS, settings.ANTHROPIC_BASE_URL, settings.OPENAI_BASE_URL))


def find(name: str) -> ModelInfo | None:
    """Return the model of that name, or None."""
    return next((info for info in all_models() if info.name == name), None)


def default_model() -> str | None:
    """Return the name of the first real model that can be asked, or None."""
    return next((each.name for each in all_models() if not each.is_scripted and availability(each).ok), None)


def availability(info: ModelInfo) -> Availability:
    """Say whether the model's key is there; a local server needs none."""
    if info.is_scripted:
        return Availability(True, "Plays a script; no model is asked.")
    if key_of(info) or not info.key_variable or _is_local(info.host):
        return Availability(True)
    variable = info.key_variable
    return Availability(
        False, f"{info.name} needs a key: set {variable} (or {variable}_FILE) for the server and start it again."
    )


def key_of(info: ModelInfo) -> str:
    """Return the secret that the model's key variable holds, or "". Never show or store it."""
    match info.key_variable:
        case "":
            return ""
        case "ANTHROPIC_API_KEY":
            return str(settings.ANTHROPIC_API_KEY)
        case "OPENAI_API_KEY":
            return str(settings.OPENAI_API_KEY)
        case variable:
            return str(settings.SAKURA_READ_SECRET(variable))


def provider_for(info: ModelInfo) -> Provider:
    """Return a fresh provider for one run. Raises ProviderError when the key is missing or can't be one."""
    if info.is_scripted:
        return ScriptedProvider()
    available = availability(info)
    if not available.ok:
        raise ProviderError(Trouble.WRONG_KEY, available.why)
    key = key_of(info)
    if not re.fullmatch(r"[!-~]*", key):
        raise ProviderError(
            Trouble.WRONG_KEY,
            f"{info.key_variable} holds a blank, a line break or a letter that no key has; set it anew.",
        )
    # The makers' SDKs take a second to load and much memory: only a process that asks one pays for it.
    provider: Provider = import_module(MODULES[info.provider]).provider(info, key)
    return provider


def cost(info: ModelInfo, usage: Usage) -> Decimal:
    """Return what a response cost in US dollars."""
    prices = info.prices
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    total = (
        fresh * prices.input
        + usage.cached_tokens * (prices.input if prices.cached is None else prices.cached)
        + usage.cache_write_tokens * (prices.input if prices.cache_write is None else prices.cache_write)
        + usage.output_tokens * prices.output
    )
    return total / MILLION


def _is_local(host: str) -> bool:
    """Return whether a server needs no key by custom: this machine or a private network."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


# --- the built-in models ------------------------------------------------------------------------


def _builtin(anthropic_url: str, openai_url: str) -> list[ModelInfo]:
    """Return the defaults.

    Windows and prices are the makers' list prices of November 2026, to begin with; an entry of the same name in
    SAKURA_MODELS overrides what it gives.
    """
    return [
        _claude("claude-sonnet-5-5", anthropic_url, _prices("2", "10", "0.10", "2.50")),
        _claude("claude-opus-5-5", anthropic_url, _prices("4", "20", "0.20", "5")),
        _claude("claude-haiku-4-5", anthropic_url, _prices("1", "5", "0.10", "1.25"), 200_000, 64_000),
        _gpt("gpt-6-sol", openai_url, _prices("2", "10", "0.20", "2.50")),
        _gpt("gpt-6-luna", openai_url, _prices("0.10", "0.50", "0.01", "0.125")),
        ModelInfo(name=SCRIPTED, provider=SCRIPTED, id=SCRIPTED, context_window=1_000_000, sees_images=True),
    ]


def _prices(fresh: str, output: str, cached: str, cache_write: str) -> Prices:
    return Prices(
        input=Decimal(fresh), output=Decimal(output), cached=Decimal(cached), cache_write=Decimal(cache_write)
    )


def _claude(name: str, url: str, prices: Prices, window: int = 1_000_000, most: int = 128_000) -> ModelInfo:
    return ModelInfo(
        name=name,
        provider="anthropic",
        id=name,
        base_url=url,
        key_variable=KEY_VARIABLES["anthropic"],
        context_window=window,
        max_output_tokens=most,
        prices=prices,
        sees_images=True,
    )


def _gpt(name: str, url: str, prices: Prices) -> ModelInfo:
    return ModelInfo(
        name=name,
        provider="openai",
        id=name,
        base_url=url,
        key_variable=KEY_VARIABLES["openai"],
        context_window=272_000,  # the whole window is larger, but a longer prompt costs twice as much
        max_output_tokens=128_000,
        prices=prices,
        sees_images=True,
        # chat.completions refuses tools beside any other effort
        options={"reasoning_effort": "none"},
    )


# --- SAKURA_MODELS ------------------------------------------------------------------------------


@cache
def _models(configured: str, anthropic_url: str, openai_url: str) -> tuple[ModelInfo, ...]:
    builtin = {info.name: info for info in _builtin(anthropic_url, openai_url)}
    own = {info.name: info for info in _configured(configured, builtin)} if configured.strip() else {}
    return (*own.values(), *(info for name, info in builtin.items() if name not in own))


def _configured(value: str, builtin: dict[str, ModelInfo]) -> Iterator[ModelInfo]:
    text, where = _toml(value)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ImproperlyConfigured(f"{where} is not TOML: {error}.") from error
    entries = data.pop("models", None)
    if data or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ImproperlyConfigured(f"{where} must consist of [[models]] tables, each with a name.")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*models\s*\]\]", line)]
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        place = f"{where}, line {lines[index]}" if index < len(lines) else where
        info = _entry(entry, builtin, place)
        if info.name in seen:
            raise ImproperlyConfigured(f"{place}: there are two models named {info.name!r}.")
        seen.add(info.name)
        yield info


def _toml(value: str) -> tuple[str, str]:
    """Return the text and what to call it; a value of one line that ends in .toml is a path."""
    if "\n" in value or not value.strip().endswith(".toml"):
        return value, "SAKURA_MODELS"
    path = Path(value.strip()).expanduser()
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ImproperlyConfigured(
                f"SAKURA_MODELS={path} is over {MAX_FILE_BYTES} bytes; it should list models only."
            )
        return path.read_text(encoding="utf-8"), f"SAKURA_MODELS={path}"
    except OSError as error:
        raise ImproperlyConfigured(f"SAKURA_MODELS={path} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"SAKURA_MODELS={path} is not UTF-8: {error.reason}.") from error


def _entry(entry: dict[str, Any], builtin: dict[str, ModelInfo], place: str) -> ModelInfo:
    name = entry.get("name")
    if name == SCRIPTED or entry.get("provider") == SCRIPTED:
        raise ImproperlyConfigured(f"{place}: {SCRIPTED} is built in; give the model another name and provider.")
    known = builtin.get(name) if isinstance(name, str) else None
    try:
        info = ModelInfo.model_validate({**(known.model_dump() if known else {}), **entry})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ImproperlyConfigured(f"{place}: {name or 'a model'}: {field}: {first['msg']}.") from error
    if info.base_url and urlsplit(info.base_url).scheme not in ("http", "https"):
        raise ImproperlyConfigured(f"{place}: {info.name}: base_url must begin with http:// or https://.")
    if "key_variable" in entry or known or info.base_url:
        return info
    return info.model_copy(update={"key_variable": KEY_VARIABLES[info.provider]})
