"""The files of one folder as its proposals read them, from a tree on disk or from git: bounded, never crashing."""

import json
import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from workspaces import cuts, paths

DISK_BYTES = 256 * 1024
YAML_BYTES = 64 * 1024
TOML_DOTS = 300
"""A dotted key takes time with the square of its length."""


class Manifests(ABC):
    """The files of one folder, read when asked for. `unreadable` says why one could not be made use of, by name."""

    def __init__(self) -> None:
        self.unreadable: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    @property
    @abstractmethod
    def names(self) -> Collection[str]:
        """The names of files and folders in the folder."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return a file's bytes, none for one that is absent, empty, or too large, which is then noted."""

    def has(self, name: str) -> bool:
        return name in self.names

    def text(self, name: str) -> str:
        """Return a file's text, empty where it is absent or too large."""
        if name not in self._texts:
            self._texts[name] = self.read(name).decode("utf-8", "replace").removeprefix("\ufeff")
        return self._texts[name]

    def toml(self, name: str) -> dict[str, Any]:
        """Return what a TOML file holds; {} for one that can't be read, which is then noted."""
        text = self.text(name)
        if any(line.count(".") > TOML_DOTS for line in text.split("\n")):
            self.unreadable[name] = f"a line with more than {TOML_DOTS} dots"
            return {}
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            self._note(name, "TOML", error)
            return {}

    def json(self, name: str) -> dict[str, Any]:
        """Return what a JSON file holds; {} for one that holds no object, or can't be read, which is then noted."""
        try:
            found = json.loads(self.text(name) or "{}")
        except (ValueError, RecursionError) as error:
            self._note(name, "JSON", error)
            return {}
        return table(found)

    def yaml(self, name: str) -> dict[str, Any]:
        """Return what a YAML file holds, scalars as texts, no merge key followed; {} for one that can't be read."""
        text = self.text(name)
        if len(text) > YAML_BYTES:
            self.unreadable[name] = f"larger than {YAML_BYTES // 1024} KB"
            return {}
        try:
            return table(_Plain(text).get_single_data())
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            self._note(name, "YAML", error)
            return {}

    def _note(self, name: str, kind: str, error: Exception) -> None:
        said = "too deeply nested" if isinstance(error, RecursionError) else _said(error)
        self.unreadable[name] = f"broken {kind}: {cuts.head(' '.join(said.split()), 150)}"


def _said(error: Exception) -> str:
    """Return what is wrong; of YAML without the lines, which the library cuts wherever they are long."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"{error.problem} in line {error.problem_mark.line + 1}"
    return str(error)


class OnDisk(Manifests):
    """A folder of a workspace; `names` are those known to lie in it. Opened through the door of paths."""

    def __init__(self, root: Path, folder: str, names: Collection[str]) -> None:
        super().__init__()
        self._root = root
        self._folder = folder
        self._names = names

    @property
    def names(self) -> Collection[str]:
        return self._names

    def read(self, name: str) -> bytes:
        if name not in self._names:
            return b""
        try:
            path = paths.resolve(self._root, f"{self._folder}/{name}" if self._folder else name)
            with open(paths.open_file(self._root, path), "rb") as file:
                data = file.read(DISK_BYTES + 1)
        except paths.PathError as error:
            if error.code != "IS_DIRECTORY":
                self.unreadable[name] = error.code
            return b""
        except OSError as error:
            self.unreadable[name] = os.strerror(error.errno or 0)
            return b""
        if len(data) > DISK_BYTES:
            self.unreadable[name] = f"larger than {DISK_BYTES // 1024} KB"
            return b""
        return data


class _Plain(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Takes every scalar as text, so that no date, number or merge key is worked out, and leaves tags alone."""

    yaml_implicit_resolvers: dict[str, Any] = {}


_Plain.add_multi_constructor("!", lambda loader, suffix, node: None)


def table(value: Any, *keys: str) -> dict[str, Any]:
    """Return the table that lies below the keys, {} where there is none: a file may hold anything."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """Return the texts of a list, the text itself as the only one, or none."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
