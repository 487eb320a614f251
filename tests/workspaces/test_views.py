"""The read-only pages of a workspace."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.agents.reviewing import Scene, scene
from workspaces.models import Baseline, ReadState, Repository
from workspaces.ranges import text_hash

pytestmark = pytest.mark.django_db

FIXED = "def add(a, b):\n    return a + b\n"
MEMORY = "# Memory\n\n## 2026-01-03 Old\n\nfirst\n\n## 2026-04-11 New\n\nsecond\n"


@pytest.fixture
def done(repository: Repository) -> Scene:
    made = scene(repository)
    made.call("edit_file", files={"calc.py": FIXED})
    made.call(
        "run_command",
        files={
            "docs/deep/page.md": "x\n",
            "logo.png": b"\x89PNG\0\1\2",
            ".sakura/SAKURA.md": "# Rules\n\n<script>x</script>\n",
            ".sakura/memory.md": MEMORY,
        },
    )
    return made


@pytest.fixture
def reader(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


def page(client: Client, name: str, made: Scene, status: int = 200, **query: str) -> str:
    answer = client.get(reverse(name, args=[made.run.pk]), query)
    assert answer.status_code == status, answer.content.decode()[:1000]
    return answer.content.decode()


def test_the_files_are_those_of_the_latest_snapshot(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_files", done)
    assert "docs" in html
    assert "logo.png" in html


def test_the_files_of_an_earlier_snapshot_are_still_there(reader: Client, done: Scene) -> None:
    assert "logo.png" not in page(reader, "workspace_files", done, at="1")
    assert "a - b" in page(reader, "workspace_file", done, at="0", path="calc.py")
    assert "a + b" in page(reader, "workspace_file", done, path="calc.py")


def test_a_folder_is_opened_by_its_path(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_files", done, path="docs/deep")
    assert "page.md" in html
    assert "calc.py" not in html


def test_a_file_named_as_a_folder_leads_to_its_page(reader: Client, done: Scene) -> None:
    answer = reader.get(reverse("workspace_files", args=[done.run.pk]), {"path": "calc.py", "line": "2"})
    assert answer.status_code == 302
    assert answer["Location"].endswith("/workspace/file/?path=calc.py&line=2#L2")


def test_each_line_has_its_number_and_anchor(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_file", done, path="calc.py")
    assert '<tr id="L2"><td class="no"><a href="#L2">2</a></td>' in html
    assert '<tr id="L3">' not in html


def test_a_binary_is_named_with_its_size_and_never_shown(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_file", done, path="logo.png")
    assert "A binary file; its bytes are not shown. 7 B." in html


def test_a_path_that_is_not_there_is_not_found(reader: Client, done: Scene) -> None:
    assert "There is no such file" in page(reader, "workspace_file", done, 404, path="nothing.py")
    assert "There is no such file" in page(reader, "workspace_file", done, 404, path="../../../etc/passwd")


@pytest.mark.parametrize("at", ["99", "x", "-1", "9" * 30])
def test_a_snapshot_nobody_took_is_not_found(reader: Client, done: Scene, at: str) -> None:
    page(reader, "workspace_files", done, 404, at=at)


def test_a_path_with_odd_bytes_is_reached_by_its_shown_form(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    with open(bytes(made.run.place.tree) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"odd name\n")
    made.call("run_command", files={"x.txt": "x\n"})
    assert "caf\\xe9.txt" in page(reader, "workspace_files", made)
    assert "odd name" in page(reader, "workspace_file", made, path="caf\\xe9.txt")


def test_a_read_is_fresh_while_the_file_is_what_was_seen(reader: Client, done: Scene) -> None:
    place = done.run.place
    ReadState.objects.create(workspace=place, reader="a", path="calc.py", whole=text_hash(FIXED))
    ReadState.objects.create(workspace=place, reader="b", path="calc.py", whole="0" * 64)
    part = [2, 2, text_hash("    return a + b\n")]
    ReadState.objects.create(workspace=place, reader="c", path="calc.py", ranges=[part])
    ReadState.objects.create(workspace=place, reader="d", path="gone.py", whole="0" * 64)
    states = [row[1] for row in _context(reader, done)["rows"]]
    assert states == ["fresh", "stale", "fresh", "gone"]


def _context(client: Client, made: Scene) -> Any:
    return client.get(reverse("workspace_reads", args=[made.run.pk])).context


def test_reads_take_the_same_queries_however_many_there_are(reader: Client, done: Scene) -> None:
    counts = []
    for more in (1, 30):
        rows = [ReadState(workspace=done.run.place, reader=f"r{more}-{n}", path="calc.py") for n in range(more)]
        ReadState.objects.bulk_create(rows)
        with CaptureQueriesContext(connection) as queries:
            page(reader, "workspace_reads", done)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_baselines_say_what_a_file_was(reader: Client, done: Scene) -> None:
    Baseline.objects.create(workspace=done.run.place, path="new.py", kind="absent")
    Baseline.objects.create(workspace=done.run.place, path=".env", kind="file", mode="100644", size=9, ignored=True)
    html = page(reader, "workspace_baselines", done)
    assert "not there" in html
    assert "ignored by git" in html


def test_the_documents_are_rendered_and_made_safe(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_sakura", done)
    assert ">Rules<" in html
    assert "# Rules" not in html
    assert "<script>x" not in html


def test_the_memory_comes_newest_first(reader: Client, done: Scene) -> None:
    html = page(reader, "workspace_sakura", done, path=".sakura/memory.md")
    assert html.index("second") < html.index("first</p>")


def test_no_sakura_folder_is_a_plain_answer(reader: Client, done: Scene) -> None:
    assert "No <code>.sakura</code> folder at snapshot 0" in page(reader, "workspace_sakura", done, at="0")
    page(reader, "workspace_sakura", done, 404, path=".sakura/nothing.md")


def test_a_workspace_that_was_not_prepared_says_so(reader: Client, launch: Any) -> None:
    run = launch({})
    assert "No files yet" in reader.get(reverse("workspace_files", args=[run.pk])).content.decode()
    for name in ("workspace_reads", "workspace_baselines", "workspace_sakura"):
        assert reader.get(reverse(name, args=[run.pk])).status_code == 200


def test_a_stranger_sees_no_page(client: Client, stranger: User, done: Scene) -> None:
    client.force_login(stranger)
    for name in ("files", "file", "reads", "baselines", "sakura"):
        assert client.get(reverse(f"workspace_{name}", args=[done.run.pk])).status_code == 403


def test_the_pages_take_no_post(reader: Client, done: Scene) -> None:
    for name in ("files", "file", "reads", "baselines", "sakura"):
        assert reader.post(reverse(f"workspace_{name}", args=[done.run.pk])).status_code == 405
