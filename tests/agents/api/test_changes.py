"""What a run changed, by the API: files, diffs, patch, trees, snapshots."""

import os
from pathlib import Path
from typing import Any

import pytest

from agents.models import Run
from tests.agents.api.conftest import Caller
from tests.conftest import git
from workspaces import snapshots
from workspaces.models import Baseline, ReadState

pytestmark = pytest.mark.django_db


def _files(body: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["status"] for file in body["files"]}


def test_changes_list_every_file_with_its_status(viewer: Caller, changed: Run) -> None:
    body = viewer.get(f"/runs/{changed.pk}/changes").json()
    assert _files(body) == {"poem.txt": "modified", "new.txt": "added", "old.txt": "deleted"}
    poem = next(file for file in body["files"] if file["path"] == "poem.txt")
    assert (poem["additions"], poem["deletions"], poem["binary"]) == (2, 2, False)
    assert (poem["old_mode"], poem["new_mode"]) == ("100644", "100644")
    assert body["tree"] != body["baseline_tree"]


def test_changes_are_between_any_two_snapshots(viewer: Caller, changed: Run) -> None:
    assert _files(viewer.get(f"/runs/{changed.pk}/changes", **{"from": 0, "to": 1}).json()) == {"poem.txt": "modified"}
    later = viewer.get(f"/runs/{changed.pk}/changes", **{"from": 1, "to": "latest"}).json()
    assert _files(later) == {"new.txt": "added", "old.txt": "deleted"}


@pytest.mark.parametrize(("end", "status"), [("9", 404), ("-1", 422), ("newest", 422), ("99999999999999999999", 422)])
def test_a_snapshot_that_is_not_there_is_refused(viewer: Caller, changed: Run, end: str, status: int) -> None:
    for address in ("changes", "patch"):
        assert viewer.get(f"/runs/{changed.pk}/{address}", to=end).status_code == status


def test_a_run_without_a_workspace_has_no_snapshot_yet(viewer: Caller, run: Run) -> None:
    answer = viewer.get(f"/runs/{run.pk}/changes")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NO_SNAPSHOT")


def test_a_diff_gives_hunks_with_ids_and_numbered_lines(viewer: Caller, changed: Run) -> None:
    body = viewer.get(f"/runs/{changed.pk}/diff", path="poem.txt").json()
    assert (body["path"], body["binary"], body["truncated"]) == ("poem.txt", False, False)
    assert len({hunk["id"] for hunk in body["hunks"]}) == 2
    lines = [(line["kind"], line["old"], line["new"], line["text"]) for line in body["hunks"][0]["lines"][:3]]
    assert lines == [(" ", 1, 1, "line 1"), ("-", 2, None, "line 2"), ("+", None, 2, "line two")]
    assert body["hunks"][0]["header"].startswith("@@ ")


def test_a_diff_of_a_file_that_never_was_is_not_found(viewer: Caller, changed: Run) -> None:
    assert viewer.get(f"/runs/{changed.pk}/diff", path="nothing.txt").status_code == 404
    assert viewer.get(f"/runs/{changed.pk}/diff").status_code == 422


def test_git_applies_the_patch(viewer: Caller, changed: Run, source: Path) -> None:
    answer = viewer.get(f"/runs/{changed.pk}/patch")
    assert answer["Content-Type"].startswith("text/")
    (source.parent / "run.patch").write_bytes(answer.content)
    git(source, "apply", "--index", "../run.patch")
    assert git(source, "status", "--short").split("\n") == ["A  new.txt", "D  old.txt", "M  poem.txt"]


def test_a_tree_lists_a_folder_of_a_snapshot(viewer: Caller, changed: Run) -> None:
    body = viewer.get(f"/runs/{changed.pk}/tree").json()
    assert {(entry["name"], entry["kind"]) for entry in body["entries"]} == {
        (".sakura", "dir"), ("poem.txt", "file"), ("new.txt", "file")
    }  # fmt: skip
    before = viewer.get(f"/runs/{changed.pk}/tree", at=0).json()
    assert "old.txt" in {entry["path"] for entry in before["entries"]}
    inner = viewer.get(f"/runs/{changed.pk}/tree", path=".sakura").json()
    assert [entry["path"] for entry in inner["entries"]] == [".sakura/SAKURA.md"]


def test_a_file_is_given_as_it_was_in_a_snapshot(viewer: Caller, changed: Run) -> None:
    now = viewer.get(f"/runs/{changed.pk}/file", path="poem.txt")
    then = viewer.get(f"/runs/{changed.pk}/file", path="poem.txt", at=0)
    assert b"line two\n" in now.content
    assert b"line 2\n" in then.content
    assert (now["X-Truncated"], now["X-Content-Type-Options"]) == ("false", "nosniff")
    assert viewer.get(f"/runs/{changed.pk}/file", path="old.txt").status_code == 404


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "poem.txt/x", "a\x00b", ".sakura", ".git/config"])
def test_a_path_that_is_no_file_of_the_tree_is_refused(viewer: Caller, changed: Run, path: str) -> None:
    assert viewer.get(f"/runs/{changed.pk}/file", path=path).status_code in (404, 422)


def test_html_is_never_served_as_html(viewer: Caller, changed: Run) -> None:
    (changed.place.tree / "page.html").write_text("<script>alert(1)</script>")
    snapshots.take(changed.place, call_id="call-3", step=2, paths=["page.html"])
    assert viewer.get(f"/runs/{changed.pk}/file", path="page.html")["Content-Type"] == "text/plain; charset=utf-8"


def test_a_path_that_is_not_utf8_goes_both_ways(viewer: Caller, changed: Run) -> None:
    Path(os.fsdecode(bytes(changed.place.tree) + b"/caf\xe9.txt")).write_text("coffee\n")
    snapshots.take(changed.place, call_id="call-3", step=2, paths=None)
    body = viewer.get(f"/runs/{changed.pk}/changes", **{"from": 2}).json()
    path = body["files"][0]["path"]
    assert path == "caf\\xe9.txt"
    assert viewer.get(f"/runs/{changed.pk}/file", path=path).content == b"coffee\n"
    assert viewer.get(f"/runs/{changed.pk}/diff", path=path).json()["hunks"][0]["lines"][0]["text"] == "coffee"


def test_snapshots_are_listed_from_the_baseline_on(viewer: Caller, changed: Run) -> None:
    body = viewer.get(f"/runs/{changed.pk}/snapshots").json()
    assert [(row["number"], row["call_id"]) for row in body["snapshots"]] == [(0, ""), (1, "call-1"), (2, "call-2")]
    assert body["snapshots"][2]["file_count"] == 2


def test_reads_and_baselines_are_listed(viewer: Caller, changed: Run) -> None:
    ReadState.objects.create(workspace=changed.place, reader="implementer", path="poem.txt", ranges=[[1, 9, "hash"]])
    Baseline.objects.create(workspace=changed.place, path="poem.txt", kind="file", mode="100644")
    (read,) = viewer.get(f"/runs/{changed.pk}/reads").json()["reads"]
    (baseline,) = viewer.get(f"/runs/{changed.pk}/baselines").json()["baselines"]
    assert (read["path"], read["reader"], read["ranges"], read["is_whole"]) == (
        "poem.txt",
        "implementer",
        [[1, 9]],
        False,
    )
    assert (baseline["path"], baseline["kind"], baseline["mode"]) == ("poem.txt", "file", "100644")


def test_sakura_documents_are_listed_and_read(viewer: Caller, changed: Run) -> None:
    folder = viewer.get(f"/runs/{changed.pk}/sakura").json()
    assert [entry["name"] for entry in folder["entries"]] == ["SAKURA.md"]
    assert viewer.get(f"/runs/{changed.pk}/sakura", path="SAKURA.md").json()["text"] == "# How we work\n"
    assert viewer.get(f"/runs/{changed.pk}/sakura", path="../poem.txt").status_code == 404


def test_what_can_not_be_stored_is_named(viewer: Caller, changed: Run) -> None:
    assert viewer.get(f"/runs/{changed.pk}/changes").json()["left_out"] == []
    os.mkfifo(changed.place.tree / "pipe")
    snapshots.take(changed.place, call_id="", step=0, paths=None)
    body = viewer.get(f"/runs/{changed.pk}/changes").json()
    assert body["left_out"] == [{"path": "pipe", "why": "it is a device, FIFO or socket"}]
    assert body["left_out_count"] == 1
