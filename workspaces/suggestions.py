"""What a project's own files say about how to set it up and how to check it: proposals, each with its reason."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from workspaces.git import Git
from workspaces.models import Repository

FILE_BYTES = 4 * 1024 * 1024
MAX_HOSTS = 12
NAME_THE_HOSTS = (
    "No file of the project names the host of its package index: add it to the set-up hosts as host:port, "
    "as your package manager's configuration has it."
)


@dataclass
class Manifests:
    """The files at the top of the base, read when asked for."""

    git: Git
    commit: str
    sizes: dict[str, int]
    _texts: dict[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.sizes

    def text(self, name: str) -> str:
        """Return a file's text, empty where it is absent or larger than FILE_BYTES."""
        if not 0 < self.sizes.get(name, 0) <= FILE_BYTES:
            return ""
        if name not in self._texts:
            self._texts[name] = self.git.run("cat-file", "blob", f"{self.commit}:{name}").decode("utf-8", "replace")
        return self._texts[name]

    def toml(self, name: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text(name))
        except tomllib.TOMLDecodeError:
            return {}

    def json(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self.text(name) or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


Proposal = tuple[str, str, str]  # part (setup or verify), command, because


def suggest(repository: Repository) -> dict[str, Any]:
    """Return {"setup": [{"command", "because"}], "verify": […], "hosts": [{"host", "because"}], "notes": […]}.

    Reads the top folder of the default branch in the mirror; nothing of the project is run. Raises GitError.
    """
    files = _manifests(repository)
    proposals = list(dict.fromkeys(proposal for language in LANGUAGES for proposal in language(files)))
    found: dict[str, Any] = {"setup": [], "verify": [], "hosts": _hosts(files), "notes": []}
    for part, command, because in proposals:
        found[part].append({"command": command, "because": because})
    by_make = [check for check in found["verify"] if check["command"].startswith("make ")]
    found["verify"] = by_make or found["verify"]
    if found["setup"] and not found["hosts"]:
        found["notes"].append(NAME_THE_HOSTS)
    return found


def _manifests(repository: Repository) -> Manifests:
    git = Git(repository.mirror)
    name = repository.default_branch or "HEAD"
    commit = git.run("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    listing = git.run("ls-tree", "-l", "-z", commit).decode("utf-8", "surrogateescape")
    lines = [line.partition("\t") for line in listing.split("\0") if line]
    sizes = {name: int(head.split()[3]) if head.split()[3].isdigit() else 0 for head, _, name in lines}
    return Manifests(git, commit, sizes)


def _make(files: Manifests) -> Iterator[Proposal]:
    for name in ("Makefile", "GNUmakefile", "makefile"):
        for target in dict.fromkeys(re.findall(r"^(test|check|lint):", files.text(name), re.MULTILINE)):
            yield "verify", f"make {target}", f"{name} has the target {target}"


def _python(files: Manifests) -> Iterator[Proposal]:
    venv = "python3 -m venv .venv"
    project = files.toml("pyproject.toml")
    if files.has("uv.lock"):
        yield "setup", "uv sync --frozen", "uv.lock is there"
    elif files.has("poetry.lock"):
        yield "setup", "poetry config --local virtualenvs.in-project true && poetry install", "poetry.lock is there"
    elif files.has("Pipfile.lock"):
        yield "setup", "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev", "Pipfile.lock is there"
    else:
        wanted = list(_pip(files, project))
        if wanted:
            yield "setup", f"{venv} && .venv/bin/pip install {' '.join(word for word, _ in wanted)}", _list(wanted)
    yield from _python_checks(files, project)


def _pip(files: Manifests, project: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what pip is to install, with the file that says so."""
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"):
        if files.has(name):
            yield f"-r {name}", name
    extras = [str(name) for name in project.get("project", {}).get("optional-dependencies", {})]
    chosen = [name for name in extras if name in {"dev", "test", "tests", "testing"}]
    if "project" in project or "build-system" in project:
        yield f"-e '.[{','.join(chosen)}]'" if chosen else "-e .", "pyproject.toml"
    elif files.has("setup.py"):
        yield "-e .", "setup.py"


def _list(wanted: list[tuple[str, str]]) -> str:
    return f"{', '.join(name for _, name in wanted)} says what the project needs"


def _python_checks(files: Manifests, project: dict[str, Any]) -> Iterator[Proposal]:
    pytest = {"pytest.ini": True, "conftest.py": True, "tox.ini": "[pytest]" in files.text("tox.ini")}
    said = [name for name, counts in pytest.items() if counts and files.has(name)]
    said += ["pyproject.toml"] if "pytest" in project.get("tool", {}) else []
    lists = [name for name in files.sizes if re.fullmatch(r"requirements.*\.txt|setup\.cfg", name)]
    said += [name for name in lists if "pytest" in files.text(name)]
    if said:
        yield "verify", "python3 -m pytest -q", f"{said[0]} speaks of pytest"
    elif files.has("tests") and any(name.endswith(".py") or name == "pyproject.toml" for name in files.sizes):
        yield "verify", "python3 -m unittest discover", "there are Python files and a folder tests"


def _node(files: Manifests) -> Iterator[Proposal]:
    managers = {
        "package-lock.json": ("npm ci", "npm"),
        "npm-shrinkwrap.json": ("npm ci", "npm"),
        "pnpm-lock.yaml": ("pnpm install --frozen-lockfile", "pnpm"),
        "yarn.lock": ("yarn install --frozen-lockfile", "yarn"),
        "package.json": ("npm install", "npm"),
    }
    name = next((name for name in managers if files.has(name)), None)
    if name is None or not files.has("package.json"):
        return
    install, manager = managers[name]
    package = files.json("package.json")
    if package.get("dependencies") or package.get("devDependencies") or name != "package.json":
        yield "setup", install, f"{name} is there"
    scripts = package.get("scripts")
    for script in ("test", "lint", "typecheck"):
        text = scripts.get(script) if isinstance(scripts, dict) else None
        if isinstance(text, str) and "no test specified" not in text:
            yield "verify", f"{manager} run {script}", f"package.json has the script {script}"


def _others(files: Manifests) -> Iterator[Proposal]:
    table = {
        "go.mod": ("go mod download", "go test ./..."),
        "Cargo.toml": ("cargo fetch", "cargo test --offline"),
        "Gemfile": ("bundle config set --local path .bundle/gems && bundle install", _ruby_check(files)),
        "composer.json": ("composer install --no-interaction", _php_check(files)),
        "pom.xml": ("mvn -q -B dependency:go-offline", "mvn -q -B -o test"),
        "gradlew": ("./gradlew --no-daemon classes testClasses", "./gradlew --no-daemon --offline test"),
        "mix.exs": ("mix deps.get", "mix test"),
    }
    for name, (install, check) in table.items():
        if files.has(name):
            yield "setup", install, f"{name} is there"
            if check:
                yield "verify", check, f"{name} is there"


def _ruby_check(files: Manifests) -> str:
    if files.has(".rspec") or files.has("spec"):
        return "bundle exec rspec"
    return "bundle exec rake test" if files.has("Rakefile") else ""


def _php_check(files: Manifests) -> str:
    return "vendor/bin/phpunit" if files.has("phpunit.xml.dist") or files.has("phpunit.xml") else ""


LANGUAGES: tuple[Callable[[Manifests], Iterator[Proposal]], ...] = (_make, _python, _node, _others)

SOURCES: dict[str, str] = {  # file: what stands before the address of a package index or of a package
    "package-lock.json": r'"resolved":\s*"',
    "npm-shrinkwrap.json": r'"resolved":\s*"',
    "yarn.lock": r'resolved\s+"',
    "pnpm-lock.yaml": r"tarball:\s*",
    ".npmrc": r"registry\s*=\s*",
    ".yarnrc": r'registry\s+"?',
    ".yarnrc.yml": r'[rR]egistry\w*:\s*"?',
    "pip.conf": r"index-url\s*=\s*",
    "requirements.txt": r"(?:--index-url|--extra-index-url|-i)[ =]|@\s*(?:git\+)?",
    "pyproject.toml": r'url\s*=\s*"',
    "poetry.lock": r'url\s*=\s*"',
    "uv.lock": r'(?:url|registry)\s*=\s*"',
    "Pipfile": r'url\s*=\s*"',
    "Gemfile": r'source\s*\(?\s*["\']',
    "Gemfile.lock": r"remote:\s*",
    "Cargo.lock": r'source\s*=\s*"(?:registry|git|sparse)\+',
    "composer.lock": r'"url":\s*"',
}


def _hosts(files: Manifests) -> list[dict[str, str]]:
    """Return the hosts that lock files and settings of package managers fetch from."""
    found: dict[str, str] = {}
    for name, before in SOURCES.items():
        for address in re.findall(rf"(?:{before})(https?://[^\s\"',)#]+)", files.text(name)):
            host = _host(address)
            if host:
                found.setdefault(host, f"{name} names it")
    return [{"host": host, "because": because} for host, because in list(found.items())[:MAX_HOSTS]]


def _host(address: str) -> str:
    """Return host:port of an address, empty where it has none; a name or password in it is left out."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname else ""
