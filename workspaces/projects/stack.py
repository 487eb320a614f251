"""What a project is made with: languages, package managers and frameworks, each with the file that says so."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from workspaces.projects import node
from workspaces.projects.manifests import Manifests, table, texts

LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), "Python"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "JavaScript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "TypeScript"),
    **dict.fromkeys(("c", "h"), "C"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), "C++"),
    **dict.fromkeys(("kt", "kts"), "Kotlin"),
    **dict.fromkeys(("ex", "exs"), "Elixir"),
    **dict.fromkeys(("sh", "bash"), "Shell"),
    **dict.fromkeys(("html", "htm"), "HTML"),
    **dict.fromkeys(("css", "scss", "less"), "CSS"),
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "scala": "Scala",
    "rb": "Ruby",
    "php": "PHP",
    "cs": "C#",
    "fs": "F#",
    "swift": "Swift",
    "dart": "Dart",
    "lua": "Lua",
    "zig": "Zig",
    "hs": "Haskell",
    "ml": "OCaml",
    "clj": "Clojure",
    "r": "R",
    "jl": "Julia",
    "sql": "SQL",
    "vue": "Vue",
    "svelte": "Svelte",
    "ipynb": "Jupyter",
    "tf": "Terraform",
}
"""By the ending of a file's name."""

MANAGERS = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "Pipfile": "pipenv",
    "Pipfile.lock": "pipenv",
    "pdm.lock": "pdm",
    "requirements.txt": "pip",
    "setup.py": "pip",
    "environment.yml": "conda",
    **{name: manager for name, (_, manager) in node.MANAGERS.items() if name != "package.json"},
    "Cargo.toml": "cargo",
    "go.mod": "go",
    "pom.xml": "maven",
    "build.gradle": "gradle",
    "build.gradle.kts": "gradle",
    "Gemfile": "bundler",
    "composer.json": "composer",
    "mix.exs": "mix",
}

FRAMEWORKS = {
    "django": "Django",
    "flask": "Flask",
    "fastapi": "FastAPI",
    "starlette": "Starlette",
    "tornado": "Tornado",
    "aiohttp": "aiohttp",
    "celery": "Celery",
    "pytest": "pytest",
    "streamlit": "Streamlit",
    "torch": "PyTorch",
    "react": "React",
    "next": "Next.js",
    "vue": "Vue",
    "nuxt": "Nuxt",
    "svelte": "Svelte",
    "astro": "Astro",
    "@angular/core": "Angular",
    "express": "Express",
    "fastify": "Fastify",
    "@nestjs/core": "NestJS",
    "vite": "Vite",
    "webpack": "webpack",
    "jest": "Jest",
    "vitest": "Vitest",
    "mocha": "Mocha",
    "@playwright/test": "Playwright",
    "cypress": "Cypress",
    "electron": "Electron",
    "tailwindcss": "Tailwind CSS",
    "github.com/gin-gonic/gin": "Gin",
    "github.com/labstack/echo": "Echo",
    "github.com/gofiber/fiber": "Fiber",
    "axum": "Axum",
    "actix-web": "Actix Web",
    "rocket": "Rocket",
    "tokio": "Tokio",
    "bevy": "Bevy",
    "rails": "Rails",
    "sinatra": "Sinatra",
    "rspec": "RSpec",
    "laravel/framework": "Laravel",
    "phoenix": "Phoenix",
    "symfony/framework-bundle": "Symfony",
    "phpunit/phpunit": "PHPUnit",
    "org.springframework.boot": "Spring Boot",
    "io.quarkus": "Quarkus",
    "org.junit.jupiter": "JUnit",
    "junit": "JUnit",
}
"""By the name of a dependency."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_PATTERNS = {
    "go.mod": r"^\s*(?:require\s+)?([\w.-]+\.\w+/[\w./-]+?)(?:/v\d+)?\s+v\d",
    "Gemfile": r"^\s*gem\s+['\"]([\w-]+)",
    "pom.xml": r"<groupId>\s*([\w.-]+)\s*</groupId>",
    "build.gradle": r"['\"]([\w.-]+?)(?::[\w.-]+|['\"]\s)",
    "build.gradle.kts": r"['\"]([\w.-]+?)(?::[\w.-]+|['\"]\))",
    "mix.exs": r"\{:(\w+),",
}


def languages(names: Iterable[Iterable[str]]) -> list[tuple[str, int]]:
    """Return each language with its number of files, the most used first."""
    endings: Counter[str] = Counter()
    for group in names:
        endings.update([name.rpartition(".")[2] for name in group])
    found: Counter[str] = Counter()
    for ending, count in endings.items():
        language = LANGUAGES.get(ending.lower())
        if language:
            found[language] += count
    return sorted(found.items(), key=lambda each: (-each[1], each[0]))


def managers(files: Manifests) -> dict[str, str]:
    """Return the package managers, each with the file that tells it."""
    found: dict[str, str] = {}
    for name, manager in MANAGERS.items():
        if files.has(name):
            found.setdefault(manager, name)
    if files.has("package.json") and not found.keys() & {"npm", "pnpm", "yarn", "bun"}:
        found["npm"] = "package.json"
    if files.has("pyproject.toml") and not found.keys() & {"uv", "poetry", "pipenv", "pdm", "pip", "conda"}:
        found["poetry" if table(files.toml("pyproject.toml"), "tool", "poetry") else "pip"] = "pyproject.toml"
    return found


def frameworks(files: Manifests) -> dict[str, str]:
    """Return the frameworks that the project depends on, each with the file that names it."""
    found: dict[str, str] = {}
    for name, file in _dependencies(files):
        framework = FRAMEWORKS.get(name.lower())
        if framework:
            found.setdefault(framework, file)
    return found


def members(files: Manifests) -> list[str]:
    """Return the folders that the project names as its parts, as it writes them."""
    declared = files.json("package.json").get("workspaces")
    found = texts(declared if isinstance(declared, list) else table(declared).get("packages"))
    found += texts(files.yaml("pnpm-workspace.yaml").get("packages"))
    found += texts(table(files.toml("Cargo.toml"), "workspace").get("members"))
    found += texts(table(files.toml("pyproject.toml"), "tool", "uv", "workspace").get("members"))
    return list(dict.fromkeys(found))


def _dependencies(files: Manifests) -> Iterator[tuple[str, str]]:
    """Yield the name of each dependency with the file that has it."""
    for name in sorted(files.names):
        if re.fullmatch(r"(?:[\w-]+-)?requirements.*\.txt", name):
            yield from (
                (found[1], name) for line in files.text(name).split("\n") if (found := _REQUIREMENT.match(line))
            )
        elif name in _PATTERNS:
            yield from ((found, name) for found in re.findall(_PATTERNS[name], files.text(name), re.MULTILINE))
    yield from ((name, "pyproject.toml") for name in _of_pyproject(files.toml("pyproject.toml")))
    package, cargo, composer = files.json("package.json"), files.toml("Cargo.toml"), files.json("composer.json")
    for file, held, parts in (
        ("package.json", package, ("dependencies", "devDependencies", "peerDependencies")),
        ("Cargo.toml", cargo, ("dependencies", "dev-dependencies")),
        ("composer.json", composer, ("require", "require-dev")),
    ):
        yield from ((name, file) for part in parts for name in table(held, part))


def _of_pyproject(project: dict[str, Any]) -> Iterator[str]:
    listed = texts(table(project, "project").get("dependencies"))
    for groups in (table(project, "project", "optional-dependencies"), table(project, "dependency-groups")):
        for group in groups.values():
            listed += texts(group)
    yield from (found[1] for line in listed if (found := _REQUIREMENT.match(line)))
    poetry = table(project, "tool", "poetry")
    yield from table(poetry, "dependencies")
    for group in table(poetry, "group").values():
        yield from table(group, "dependencies")
