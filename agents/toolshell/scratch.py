"""A data folder and a database for one toolshell, in place of the installation's own, which it never touches."""

import tempfile
from contextlib import suppress
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection, connections

APPS = ("workspaces", "agents")
"""Whose tables the tools use."""


def make_folder() -> Path:
    """Make the folder that holds everything, below TMPDIR; every uid may pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="sakura-toolshell-")).resolve()
    folder.chmod(0o711)
    return folder


def move_in(folder: Path) -> None:
    """Let the settings mean this folder, and make an empty database there; before anything used either."""
    settings.SAKURA_DATA_DIR = folder
    settings.SAKURA_RUNS_DIR = folder / "runs"
    settings.DATABASES = {"default": _database(folder / "toolshell.sqlite3")}
    connections.databases["default"] = connections.configure_settings(settings.DATABASES)["default"]
    with suppress(AttributeError):  # none was asked for yet
        del connections["default"]
    _make_tables()


def _database(file: Path) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA temp_store=MEMORY",
        },
    }


def _make_tables() -> None:
    """Make the tables as the models are: all migrations together would take seconds."""
    with connection.schema_editor() as editor:
        for name in APPS:
            for model in apps.get_app_config(name).get_models():
                if not model._meta.proxy:
                    editor.create_model(model)
