"""What options, scripts, targets and pipelines mean to the tests, file by file: what a change of them changes."""

import re
from collections.abc import Mapping

from workspaces import globs
from workspaces.integrity import builds, ini, json_files, plain, recipes, toml_files
from workspaces.integrity.findings import Finding, FindingKind
from workspaces.integrity.settings import Broken, Reader, Setting, differences, finding
from workspaces.integrity.sides import decoded

READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("**/pytest.ini", "**/.pytest.ini", "**/nose2.cfg", "**/unittest.cfg"), ini.pytest_ini),
    (("**/pytest.toml", "**/.pytest.toml", "**/.config/nextest.toml"), toml_files.whole),
    (("**/.coveragerc",), ini.coveragerc),
    (("**/setup.cfg",), ini.setup_cfg),
    (("**/tox.ini",), ini.tox_ini),
    (("**/pyproject.toml", "**/tox.toml", "**/hatch.toml"), toml_files.pyproject),
    (("**/Cargo.toml",), toml_files.cargo),
    (("**/.cargo/config.toml", "**/.cargo/config"), toml_files.cargo_config),
    (("**/bunfig.toml",), toml_files.bunfig),
    (("**/package.json",), json_files.package),
    (("**/deno.{json,jsonc}",), json_files.deno),
    (("**/composer.json",), json_files.composer),
    (("**/{nx,project,turbo,angular}.json",), json_files.task_runner),
    (("**/tsconfig*.json", "**/jsconfig.json"), json_files.tsconfig),
    (("**/{jest,vitest,ava,playwright,cypress}.config*.json", "**/.{mocharc,nycrc,c8rc}.json"), json_files.whole),
    (("**/{Makefile,makefile,GNUmakefile}", "**/*.mk"), recipes.make_reader),
    (("**/{justfile,.justfile}", "**/*.just"), recipes.just_reader),
    (("**/{Taskfile,taskfile}{,.dist}.{yml,yaml}",), recipes.task_reader),
    (("**/go.mod", "**/go.work"), builds.go_mod),
    (("**/pom.xml",), builds.pom),
    (("**/*.gradle", "**/*.gradle.kts"), builds.gradle),
    (("**/gradle.properties",), ini.gradle_properties),
    (("**/Gemfile",), builds.gemfile),
    (("**/setup.py", "**/mix.exs", "**/buildSrc/**"), builds.speaking_of_tests),
    (("**/vite.config.*",), builds.vite),
    (("**/noxfile.py",), builds.sessions),
    (("**/.npmrc",), ini.npmrc),
    (("**/.yarnrc", "**/.yarnrc.yml"), ini.yarnrc),
)
"""Files whose settings are known, first match wins; all others that decide something are compared line by line."""
LINES = (
    *("**/build.rs", "**/Rakefile", "**/build.xml", "**/.mvn/{maven.config,jvm.config,extensions.xml}"),
    *("**/junit-platform.properties", "**/testng*.xml", "**/phpunit.xml*", "**/.rspec"),
    *("**/{sitecustomize,usercustomize}.py", "**/*.pth", "**/*.{dist,egg}-info/entry_points.txt"),
    *("**/{babel.config.*,.babelrc,.babelrc.*,.swcrc}", "**/jasmine*.{json,js,mjs,cjs}", "**/web-test-runner.config.*"),
    *("**/.yarn/releases/*", "**/rust-toolchain{,.toml}", "**/.rspec-local", "**/rakelib/*.rake"),
    "**/{gradle,.mvn}/wrapper/*.jar",
)
"""Files of no other role whose every line may decide what tests do."""
BYTES_LIMIT = 512 * 1024
LINES_LIMIT = 20_000
"""What a file of settings has at most; no project writes more by hand."""
_CHANGED = {
    "pipeline": "A pipeline of continuous integration differs.",
    "script": "A program that the verify commands run differs.",
    "lines": "A file that decides which tests run, and how, differs.",
    "tool": "A test tool that is checked in differs.",
}
_of_lines = globs.covering(LINES)
_of_readers = tuple((globs.covering(patterns), reader) for patterns, reader in READERS)


def reader_of(path: str) -> Reader | None:
    """Return what reads the settings of a file of this path, if its settings are known."""
    return next((reader for covers, reader in _of_readers if covers(path)), None)


def is_compared_by_lines(path: str) -> bool:
    """Return whether every line of the file counts, whatever its role."""
    return _of_lines(path)


_CHECKED_IN = re.compile(
    r"(?:^|/)(?:vendor|node_modules|third_party|_vendor|site-packages)/(?:[^/]+/){0,4}?[^/]*"
    r"(?:testify|gomega|ginkgo|gotest|go-cmp|jest|vitest|mocha|chai|expect|assert|sinon|rspec|minitest|phpunit|junit|pytest)"
)


def is_checked_in_tool(path: str) -> bool:
    """Return whether the file is of a test tool that lies in the repository."""
    return len(path) < 4096 and _CHECKED_IN.search(path) is not None


def settings(path: str, data: bytes | None, used: frozenset[str] = frozenset()) -> dict[str, Setting]:
    """Return the settings in a file that is about tests in part. Raises Broken."""
    reader = reader_of(path)
    if reader is None or data is None:
        return {}
    if len(data) > BYTES_LIMIT or data.count(b"\n") > LINES_LIMIT:
        raise Broken(f"it has more than {LINES_LIMIT:,} lines, or {BYTES_LIMIT // 1024} KB")
    return reader(decoded(data).replace("\r\n", "\n"), used)


def compare(path: str, old: bytes | None, new: bytes | None, used: frozenset[str] = frozenset()) -> list[Finding]:
    """Return what became of the settings of a file whose settings are known; None: the file isn't there."""
    try:
        before = settings(path, old, used)
    except Broken:
        return by_lines(path, old, new, "lines")
    try:
        now: Mapping[str, Setting] = settings(path, new, used)
    except Broken as broken:
        why = f"It could be read at the baseline, and can't be any more: {broken}."
        return [Finding(FindingKind.CONFIGURATION, path, why)]
    return [finding(path, each) for each in differences(before, now)]


def by_lines(path: str, old: bytes | None, new: bytes | None, why: str) -> list[Finding]:
    """Return what became of the lines of a file; `why` is a key of what is said of one that differs."""
    if any(b"\0" in (data or b"")[:8000] for data in (old, new)):
        return [Finding(FindingKind.CONFIGURATION, path, f"{_CHANGED[why]} It is no text.")] if old != new else []
    before, now = (plain.rows_of(path, decoded(data or b"")) for data in (old, new))
    return plain.findings(path, _said(old, new, why), plain.pieces(before, now))


def _said(old: bytes | None, new: bytes | None, why: str) -> str:
    if old is None or new is None:
        return _CHANGED[why].replace("differs", "is new" if old is None else "is gone")
    return _CHANGED[why]
