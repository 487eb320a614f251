"""Commands of JavaScript and TypeScript projects."""

import re
import shlex
from collections.abc import Iterator

from workspaces.projects.manifests import Manifests, table
from workspaces.projects.proposal import Proposal

MANAGERS = {
    "package-lock.json": ("npm ci", "npm"),
    "npm-shrinkwrap.json": ("npm ci", "npm"),
    "pnpm-lock.yaml": ("pnpm install --frozen-lockfile", "pnpm"),
    "yarn.lock": ("yarn install --frozen-lockfile", "yarn"),
    "bun.lock": ("bun install --frozen-lockfile", "bun"),
    "bun.lockb": ("bun install --frozen-lockfile", "bun"),
    "package.json": ("npm install", "npm"),
}
"""By the file that tells: how it installs, and its name. The first that is there counts."""
_FIRST = {"test": "test", "lint": "lint", "typecheck": "types"}
_MORE = (
    ("test", re.compile(r"test[:.-](?!watch|debug|ui)[\w:.-]+|check")),
    ("lint", re.compile(r"lint[:.-](?!fix)[\w:.-]+|eslint|format[:-]check")),
    ("types", re.compile(r"type-?s?[:-]?check|types|tsc|check[:-]types")),
    ("build", re.compile(r"build|compile|bundle")),
)
MORE_SCRIPTS = 12
_ESLINT = ("eslint.config.js", "eslint.config.mjs", "eslint.config.ts", ".eslintrc", ".eslintrc.js", ".eslintrc.json")


def commands(files: Manifests) -> Iterator[Proposal]:
    """Yield what package.json and its lock file propose."""
    name = next((name for name in MANAGERS if files.has(name)), None)
    if name is None or not files.has("package.json"):
        return
    install, manager = MANAGERS[name]
    package = files.json("package.json")
    if package.get("dependencies") or package.get("devDependencies") or name != "package.json":
        yield Proposal("setup", install, name, f"{name} is there", first_choice=True)
    scripts = _scripts(files)
    yield from _declared(scripts, manager)
    runner = {"npm": "npx", "bun": "bunx"}.get(manager, f"{manager} exec")
    if files.has("tsconfig.json") and "typecheck" not in scripts:
        yield Proposal("types", f"{runner} tsc --noEmit", "tsconfig.json", "tsconfig.json is there")
    config = next((config for config in _ESLINT if files.has(config)), None)
    if config and "lint" not in scripts:
        yield Proposal("lint", f"{runner} eslint .", config, f"{config} is there")


def _scripts(files: Manifests) -> dict[str, str]:
    found = table(files.json("package.json"), "scripts")
    return {
        name: text for name, text in found.items() if isinstance(text, str) and "no test specified" not in text and name
    }


def _declared(scripts: dict[str, str], manager: str) -> Iterator[Proposal]:
    for script, kind in _FIRST.items():
        if script in scripts:
            yield _run(kind, script, manager, first_choice=True)
    more = [(kind, name) for name in scripts for kind, fits in _MORE if fits.fullmatch(name)]
    for kind, script in more[:MORE_SCRIPTS]:
        yield _run(kind, script, manager)


def _run(kind: str, script: str, manager: str, *, first_choice: bool = False) -> Proposal:
    because = f"package.json has the script {script}"
    return Proposal(kind, f"{manager} run {shlex.quote(script)}", "package.json", because, first_choice)
