"""Skills: where they are found, how their front matter is read, what of their folders can be read."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import git
from tests.workspaces.places import prepared, take
from workspaces import front_matter, skills, sources
from workspaces.git import Git
from workspaces.models import Repository, Workspace
from workspaces.paths import WorkspaceError
from workspaces.shelves import FolderShelf
from workspaces.skills import Origin, Skill

pytestmark = pytest.mark.django_db


def text(name: str = "", description: str = "What it is for.", body: str = "Do it.\n", more: str = "") -> str:
    head = f"name: {name}\n" if name else ""
    return f"---\n{head}description: {description}\n{more}---\n{body}"


def commit(source: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files into the source and commit them; `-> x` makes a link to x."""
    for path, content in files.items():
        target = source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            target.symlink_to(content.removeprefix("-> "))
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
    git(source, "add", "--all", "--force")
    git(source, "commit", "--quiet", "-m", "Skills")


def workspace_with(repository: Repository, source: Path, files: Mapping[str, str | bytes]) -> Workspace:
    commit(source, files)
    sources.refresh(repository)
    return prepared(repository)


def on_disk(tmp_path: Path, files: Mapping[str, str | bytes]) -> list[Skill]:
    for path, content in files.items():
        target = tmp_path / "shelf" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return skills.on(FolderShelf(tmp_path / "shelf"), Origin.INSTALLATION, [""])


def only(tmp_path: Path, content: str | bytes, path: str = "one/SKILL.md") -> Skill:
    (skill,) = on_disk(tmp_path, {path: content})
    return skill


def refused(skill: Skill, file: str) -> WorkspaceError:
    with pytest.raises(WorkspaceError) as caught:
        skills.read_file(skill, file)
    return caught.value


# --- where -------------------------------------------------------------------------------------------


def test_folders_and_flat_files_of_both_folders_are_found(repository: Repository, source: Path) -> None:
    workspace = workspace_with(
        repository,
        source,
        {
            ".sakura/skills/deploy/SKILL.md": text("deploy"),
            ".claude/skills/tidy.md": text(),
            ".claude/skills/README.md": "No skill.",
            ".claude/skills/notes/other.md": "No skill either.",
        },
    )
    found = skills.at_baseline(workspace, skills.FOLDERS)
    assert [(skill.name, skill.path, skill.fault) for skill in found] == [
        ("deploy", ".sakura/skills/deploy/SKILL.md", ""),
        ("tidy", ".claude/skills/tidy.md", ""),
    ]


def test_what_a_run_writes_is_no_skill_and_does_not_change_one(repository: Repository, source: Path) -> None:
    workspace = workspace_with(repository, source, {".claude/skills/tidy.md": text(body="As people wrote it.\n")})
    (workspace.tree / ".claude/skills/tidy.md").write_text(text(body="As the agent wrote it.\n"))
    (workspace.tree / ".claude/skills/mine.md").write_text(text())
    take(workspace)
    assert [(skill.name, skill.text) for skill in skills.at_baseline(workspace, skills.FOLDERS)] == [
        ("tidy", "As people wrote it.\n")
    ]


def test_a_written_file_brings_the_skills_of_the_folders_above_it_nearest_first(
    repository: Repository, source: Path
) -> None:
    paths = ("shop/web/.claude/skills", "shop/.sakura/skills", "other/.sakura/skills", ".sakura/skills")
    workspace = workspace_with(repository, source, {f"{path}/check.md": text() for path in paths})
    found = skills.at_baseline(workspace, skills.bases_above(["shop/web/src/app.js"]))
    assert [skill.path for skill in found] == [
        "shop/web/.claude/skills/check.md",
        "shop/.sakura/skills/check.md",
        ".sakura/skills/check.md",
    ]


def test_the_folders_above_what_was_written_last_come_first_and_the_roots_last() -> None:
    assert skills.bases_above(["a/b/c.py", "d/e.py", "f.py"])[::2] == [
        "d/.sakura/skills",
        "a/b/.sakura/skills",
        "a/.sakura/skills",
        ".sakura/skills",
    ]


def test_the_number_of_folders_looked_at_is_bounded() -> None:
    bases = skills.bases_above([f"p{number}/a.py" for number in range(5000)])
    assert len(bases) <= skills.BASES_LIMIT + 2
    assert bases[-2:] == list(skills.FOLDERS)


def test_all_sub_projects_of_a_commit_are_found(repository: Repository, source: Path) -> None:
    paths = ("api/.claude/skills/x", "api/.sakura/skills/x", ".claude/skills/y", ".sakura/skills/y", "no/skills/z")
    commit(source, {f"{path}.md": text() for path in paths})
    sources.refresh(repository)
    found = skills.of_repository(repository, sources.resolve(repository, "main"))
    assert [skill.path for skill in found] == [
        ".sakura/skills/y.md",
        ".claude/skills/y.md",
        "api/.sakura/skills/x.md",
        "api/.claude/skills/x.md",
    ]


def test_at_most_two_hundred_skills_are_listed(tmp_path: Path) -> None:
    found = on_disk(tmp_path, {f"s{number:03}.md": text() for number in range(230)})
    assert len(found) == skills.SKILLS_LIMIT


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert skills.on(FolderShelf(tmp_path / "nowhere"), Origin.INSTALLATION, [""]) == []


def test_a_folder_of_links_is_no_way_out(repository: Repository, source: Path) -> None:
    workspace = workspace_with(
        repository,
        source,
        {
            ".claude/skills/linked": "-> ../../docs",
            ".claude/skills/single/SKILL.md": "-> ../../../README.md",
            "docs/SKILL.md": text(),
        },
    )
    assert {skill.name: skill.fault for skill in skills.at_baseline(workspace, skills.FOLDERS)} == {
        "linked": "It is a link, and skills are not read through links.",
        "single": "It is a link, and skills are not read through links.",
    }


# --- front matter ------------------------------------------------------------------------------------


def test_the_folders_name_stands_in_for_a_name_that_does_not_fit(tmp_path: Path) -> None:
    found = on_disk(
        tmp_path, {"a/SKILL.md": text("no good!"), "b/SKILL.md": text(), "c/SKILL.md": text("good-1"), "d.md": text()}
    )
    assert [skill.name for skill in found] == ["a", "b", "good-1", "d"]


def test_a_name_that_nothing_can_stand_in_for_is_a_fault(tmp_path: Path) -> None:
    assert "letters, digits" in only(tmp_path, text(), "zwei worte/SKILL.md").fault


def test_a_description_on_several_lines_becomes_one(tmp_path: Path) -> None:
    skill = only(tmp_path, "---\ndescription: >\n  One\n  two.\n\n  Three.\n---\nDo it.\n")
    assert (skill.description, skill.text) == ("One two. Three.", "Do it.\n")


def test_without_a_description_the_first_line_of_the_text_is_it(tmp_path: Path) -> None:
    assert only(tmp_path, "---\nname: one\n---\n\n# Tidy up\n\nText.\n").description == "Tidy up"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path, ends: str) -> None:
    data = b"\xef\xbb\xbf" + text("one", body="Do\nit.\n").replace("\n", ends).encode()
    skill = only(tmp_path, data)
    assert (skill.fault, skill.description) == ("", "What it is for.")
    assert skill.text.split() == ["Do", "it."]


@pytest.mark.parametrize(
    ("given", "entries"),
    [
        ("Read, Grep", ("Read", "Grep")),
        ("Read Grep,Glob", ("Read", "Grep", "Glob")),
        ("[Read, 'Bash(git *)']", ("Read", "Bash(git *)")),
        ("\n  - Read\n  - Bash(npm run test:*)", ("Read", "Bash(npm run test:*)")),
        ("Bash(git add *), Bash(git (a, b)) Edit", ("Bash(git add *)", "Bash(git (a, b))", "Edit")),
        ("Bash (git *) Read", ("Bash(git *)", "Read")),
        ("''", ()),
    ],
)
def test_allowed_tools_are_read_in_all_their_forms(tmp_path: Path, given: str, entries: tuple[str, ...]) -> None:
    assert only(tmp_path, text(more=f"allowed-tools: {given}\n")).allowed == entries


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("# No front matter\n", "no front matter"),
        ("", "no front matter"),
        ("---\nname: one\n", "No line “---” ends"),
        ("---\ndescription: Use it: always\n---\n", "no valid YAML in line 2"),
        ("---\n- a\n- b\n---\n", "no fields"),
        ("---\na: &a [x]\nb: *a\n---\n", "aliases"),
        ("---\na: " + "[" * 5000 + "\n---\n", "nested"),
        ("---\ndescription: [a]\n---\n", "description is no text"),
        ("---\nallowed-tools: {Read: yes}\n---\n", "neither a text nor a list"),
        ("---\na: " + "x" * 30_000 + "\n---\n", "within the first 20 KB"),
        ("---\nname: a\x01b\n---\n", "no valid YAML"),
        ("---\nname: one\n---\n\0", "NUL"),
        (b"---\nname: one\n---\n\xff\xfe", "not UTF-8"),
        ("---\nname: one\n---\n" + "x" * 70_000, "at most 64 KB"),
    ],
)
def test_what_can_not_be_read_is_listed_with_the_reason(tmp_path: Path, content: str | bytes, words: str) -> None:
    skill = only(tmp_path, content)
    assert words in skill.fault
    assert skill.name == "one"


def test_values_stay_the_text_that_was_written() -> None:
    fields, _ = front_matter.split(
        "---\na: 2024-13-45\nb: " + "9" * 5000 + "\nc: yes\nd: !!python/name:os.system x\n---\n"
    )
    assert (fields["a"], fields["b"], fields["c"], fields["d"]) == ("2024-13-45", "9" * 5000, "yes", "x")


# --- arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "args", "filled"),
    [
        ("Do $ARGUMENTS now", "a b", "Do a b now"),
        ("From $1 to ${2}; $3.", "a b", "From a to b; ."),
        ("Price $10 and $0", "a", "Price $10 and $0\n\nArguments: a"),
        ("No place", "a b", "No place\n\nArguments: a b"),
        ("No place", "", "No place"),
        ("Put $1", "$2 x", "Put $2"),
        ("Put $ARGUMENTS", r"\1 $ARGUMENTS {{ x }}", r"Put \1 $ARGUMENTS {{ x }}"),
        ("$ARGUMENTS_DIR", "a", "$ARGUMENTS_DIR\n\nArguments: a"),
    ],
)
def test_arguments_are_put_in_as_they_are(body: str, args: str, filled: str) -> None:
    assert skills.filled_in(body, args) == filled


def test_a_text_of_many_places_does_not_grow_without_end() -> None:
    assert len(skills.filled_in("$1" * 30_000, "x" * 10_000)) < 1_100_000


# --- its files ---------------------------------------------------------------------------------------


@pytest.fixture
def skill(repository: Repository, source: Path) -> Skill:
    """A skill of a repository with files beside it."""
    folder = ".sakura/skills/deploy"
    workspace = workspace_with(
        repository,
        source,
        {
            f"{folder}/SKILL.md": text("deploy"),
            f"{folder}/docs/steps.md": "First this.\n",
            f"{folder}/also": "-> docs/steps.md",
            f"{folder}/papers": "-> docs",
            f"{folder}/up": "-> ../../../README.md",
            f"{folder}/away": "-> /etc",
            f"{folder}/round": "-> round",
            f"{folder}/image.png": b"\x89PNG\r\n\x1a\n\0\0",
            ".sakura/skills/flat.md": text("flat"),
        },
    )
    return next(each for each in skills.at_baseline(workspace, skills.FOLDERS) if each.name == "deploy")


@pytest.mark.parametrize(
    "path", ["docs/steps.md", "./docs//steps.md", "docs/../docs/steps.md", "also", "papers/steps.md"]
)
def test_a_file_in_the_folder_is_read(skill: Skill, path: str) -> None:
    assert skills.read_file(skill, path) == ("docs/steps.md", "First this.\n")


@pytest.mark.parametrize(
    "path",
    [
        "../flat.md",
        "docs/../../flat.md",
        "/etc/passwd",
        "~/x",
        "..",
        "up",
        "away/passwd",
        "C:\\x",
        "\\\\host\\x",
        "docs/../..",
    ],
)
def test_nothing_past_the_folder_is_read(skill: Skill, path: str) -> None:
    assert refused(skill, path).code == "OUTSIDE_WORKSPACE"


def test_a_missing_file_names_those_there_are(skill: Skill) -> None:
    error = refused(skill, "docs/missing.md")
    assert error.code == "NOT_FOUND"
    assert "docs/steps.md" in error.message


@pytest.mark.parametrize(
    ("path", "code"),
    [("round", "INVALID_INPUT"), ("image.png", "BINARY_FILE"), ("docs", "NOT_FOUND"), (" ", "INVALID_INPUT")],
)
def test_what_is_no_text_is_refused_in_words(skill: Skill, path: str, code: str) -> None:
    assert refused(skill, path).code == code


def test_a_file_is_that_of_the_baseline(skill: Skill) -> None:
    workspace = Workspace.objects.get()
    (workspace.tree / ".sakura/skills/deploy/docs/steps.md").write_text("Changed.\n")
    take(workspace)
    assert skills.read_file(skill, "docs/steps.md")[1] == "First this.\n"


def test_links_on_disk_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    skill = only(tmp_path, text())
    (tmp_path / "shelf/one/out").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "shelf/one/up").symlink_to("../../secret.txt")
    (skill,) = skills.on(FolderShelf(tmp_path / "shelf"), Origin.INSTALLATION, [""])
    assert [refused(skill, path).code for path in ("out", "up")] == ["OUTSIDE_WORKSPACE"] * 2


def test_a_flat_skill_has_no_files(tmp_path: Path) -> None:
    assert "single file" in refused(only(tmp_path, text(), "one.md"), "x").message


def test_a_tree_without_skills_has_none(repository: Repository) -> None:
    assert skills.at_baseline(prepared(repository), skills.bases_above(["tests/x.py"])) == []
    assert skills.bases_in(Git(repository.mirror), "main") == []
