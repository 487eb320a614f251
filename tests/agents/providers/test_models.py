"""The models that can be asked."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from agents.providers.base import ProviderError, Usage
from agents.providers.models import all_models, availability, cost, default_model, find, key_of, provider_for

NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "ANTHROPIC_BASE_URL": "", "OPENAI_BASE_URL": ""}
LOCAL = """
[[models]]
name = "qwen"
provider = "openai"
id = "qwen3-coder:30b"
base_url = "http://127.0.0.1:11434/v1"
context_window = 262144
options = {temperature = 0.2}
prices = {input = 0.1, output = 0.5}
"""


@pytest.fixture(autouse=True)
def plain_settings() -> object:
    with override_settings(SAKURA_MODELS="", **NO_KEYS):
        yield


def configured(text: str) -> override_settings:
    return override_settings(SAKURA_MODELS=text)


def test_there_are_models_of_both_makers_and_the_scripted_one_last() -> None:
    providers = [info.provider for info in all_models()]
    assert {"anthropic", "openai", "scripted"} == set(providers)
    assert providers[-1] == "scripted"


def test_no_model_is_the_default_without_a_key() -> None:
    assert default_model() is None


def test_the_first_model_whose_key_is_there_is_the_default() -> None:
    with override_settings(OPENAI_API_KEY="sk-x"):
        name = default_model()
        assert name is not None
        assert find(name) in [info for info in all_models() if info.provider == "openai"]


def test_a_missing_key_says_which_variable_to_set() -> None:
    (info, *_) = [info for info in all_models() if info.provider == "anthropic"]
    available = availability(info)
    assert not available.ok
    assert "ANTHROPIC_API_KEY" in available.why
    assert "start it again" in available.why
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        provider_for(info)


def test_a_local_server_needs_no_key() -> None:
    with configured(LOCAL):
        info = find("qwen")
        assert info is not None
        assert (info.id, info.context_window, default_model()) == ("qwen3-coder:30b", 262144, "qwen")
        assert provider_for(info).name == "openai"


def test_a_key_may_stand_in_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-of-the-gateway\n")
    monkeypatch.setenv("GATEWAY_KEY_FILE", str(tmp_path / "key"))
    entry = '[[models]]\nname="g"\nprovider="openai"\nid="g"\nbase_url="https://gateway.example.org/v1"\n'
    with configured(entry + 'key_variable="GATEWAY_KEY"'):
        info = find("g")
        assert info is not None
        assert (availability(info).ok, key_of(info)) == (True, "sk-of-the-gateway")


def test_an_entry_overrides_what_it_gives_of_a_built_in_model() -> None:
    name = next(info.name for info in all_models() if info.provider == "anthropic")
    before = find(name)
    with configured(f'[[models]]\nname = "{name}"\nprices = {{input = 7, output = 8}}'):
        after = find(name)
    assert before is not None
    assert after is not None
    assert after.prices.input == 7
    assert (after.id, after.context_window, after.key_variable) == (
        before.id,
        before.context_window,
        before.key_variable,
    )


def test_the_file_that_sakura_models_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(LOCAL)
    with configured(str(path)):
        assert find("qwen") is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[models]\nname", "line 1"),
        ('\n\n[[models]]\nname = "x"\nprovider = "openai"', "line 3: x: id: Field required"),
        ('[[models]]\nname="x"\nprovider="google"\nid="x"', "line 1: x: provider"),
        ('[[models]]\nname="x"\nprovider="openai"\nid="x"\ncolour=1', "colour: Extra inputs"),
        ('[[models]]\nname="x"\nprovider="openai"\nid="x"\nbase_url="localhost:1"', "base_url must begin"),
        ('[[models]]\nname="x"\nprovider="openai"\nid="x"\n' * 2, "line 5: there are two models"),
        ('[[models]]\nname="scripted"\nprovider="openai"\nid="x"', "built in"),
        ('[[models]]\nname="x"\nprovider="openai"\nid="x"\noptions={at=2026-01-01}', "options"),
        ("a = 1", "must consist of"),
        ("/no/such/models.toml", "can't be read: No such file"),
    ],
)
def test_a_bad_configuration_names_line_and_reason(text: str, message: str) -> None:
    with configured(text), pytest.raises(ImproperlyConfigured) as caught:
        all_models()
    assert message in str(caught.value)


def test_a_response_costs_what_was_read_written_and_cached() -> None:
    prices = "prices = {input = 2, output = 10, cached = 0.1, cache_write = 2.5}"
    with configured(f'[[models]]\nname="x"\nprovider="openai"\nid="x"\nbase_url="http://127.0.0.1:1"\n{prices}'):
        info = find("x")
    assert info is not None
    assert cost(info, Usage(1_000_000, 100_000, 500_000, 200_000)) == Decimal("2.15")


@pytest.mark.parametrize("key", ["sk-with blank", "sk-ключ", "sk-line\nbreak"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    (info, *_) = [info for info in all_models() if info.provider == "anthropic"]
    with override_settings(ANTHROPIC_API_KEY=key), pytest.raises(ProviderError, match="ANTHROPIC_API_KEY") as caught:
        provider_for(info)
    assert key not in str(caught.value)


def test_the_sdks_are_not_loaded_before_a_model_is_asked() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'sakura_web.settings'; django.setup(); "
        "from agents.providers import models, retry; models.all_models(); "
        "print([name for name in ('anthropic', 'openai', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
