"""The review page and its posts."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents import review
from agents.models import Comment, Kind, Role, Run, Status
from tests.agents.reviewing import FIXED, Scene, scene
from tests.conftest import person
from workspaces import snapshots
from workspaces.models import Repository

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


def page(client: Client, run: Run, **query: Any) -> str:
    answer = client.get(reverse("review", args=[run.pk]), query)
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return answer.content.decode()


def said(html: str) -> str:
    """Return a page's text as a reader sees it, spaces joined."""
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(svg|script|template).*?</\1>", "", html)).split())


# --- the diff ------------------------------------------------------------------------------------


def test_the_page_shows_the_diff_with_syntax_and_words(reader: Client, done: Scene) -> None:
    html = page(reader, done.run)
    assert '<span class="k">return</span> a <mark class="w">+</mark> b' in html
    assert '<span class="k">return</span> a <mark class="w">-</mark> b' in html
    assert "2 files changed +2 −1" in said(html)


def test_a_changed_line_names_the_step_that_wrote_it(reader: Client, done: Scene) -> None:
    html = page(reader, done.run)
    assert f'href="{reverse("run", args=[done.run.pk])}#step-1"' in html
    assert "Step 1 · implementer, round 1 · edit_file" in html
    assert "The sign is wrong." in html


def test_nothing_from_a_file_becomes_markup(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    evil = "<img src=x onerror=alert(1)>"
    made.call("write_file", files={f"{evil}.txt": f"{evil}\n"}, say=evil)
    assert evil not in page(reader, made.run)


def test_the_page_keeps_the_strict_policy(reader: Client, done: Scene) -> None:
    html = page(reader, done.run)
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)


def test_the_queries_do_not_grow_with_files_and_steps(reader: Client, repository: Repository) -> None:
    small, large = scene(repository), scene(repository)
    small.call("write_file", files={"one.py": "a = 1\n"})
    for n in range(12):
        large.call("write_file", files={f"f{n}.py": f"a = {n}\n", "shared.py": f"b = {n}\n"}, say=f"step {n}")
    counts = []
    for made in (small, large):
        page(reader, made.run)
        with CaptureQueriesContext(connection) as queries:
            page(reader, made.run)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 22, [query["sql"][:160] for query in queries]


def test_kinds_of_changes_are_told_in_words(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    tree = made.run.place.tree
    (tree / "calc.py").rename(tree / "sums.py")
    (tree / "README.md").chmod(0o755)
    (tree / "link").symlink_to("sums.py")
    made.call("run_command", files={"logo.bin": b"\0\1\2" * 100, "empty.txt": "", "tests/test_calc.py": None})
    html = said(page(reader, made.run))
    for words in (
        "calc.py → sums.py",
        "now executable",
        "a symbolic link",
        "A binary file",
        "An empty file",
        "deleted:",
    ):
        assert words in html


def test_a_path_that_is_not_utf_8_can_be_shown_and_reverted(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    with open(bytes(made.run.place.tree) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"x\n")
    made.call("run_command", files={"other.txt": "y\n"})
    assert "caf\\xe9.txt" in page(reader, made.run)
    answer = reader.post(reverse("revert", args=[made.run.pk]), {"path": "caf\\xe9.txt"})
    assert answer.status_code == 302
    assert [each.path for each in snapshots.changes(made.run.place).files] == ["other.txt"]


def test_a_long_diff_waits_until_it_is_asked_for(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    made.call("write_file", files={"long.txt": "".join(f"{n}\n" for n in range(1600))})
    assert "Show 1,600 changed lines" in said(page(reader, made.run))
    assert "-n1600" in page(reader, made.run, path="long.txt", whole=1)


def test_the_lines_between_hunks_can_be_shown(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    long = "".join(f"line {n}\n" for n in range(40))
    made.call("write_file", files={"long.txt": long})
    made.call("edit_file", files={"long.txt": long.replace("line 20\n", "twenty\n")})
    query = {"from": 1, "path": "long.txt"}
    assert "line 3\n" not in page(reader, made.run, **query)
    assert "17 lines that did not change" in said(page(reader, made.run, **query))
    part = page(reader, made.run, **query, gaps=1, part=1)
    assert part.lstrip().startswith("<section")
    assert "line 3</td>" in part


def test_two_snapshots_are_compared(reader: Client, done: Scene) -> None:
    html = page(reader, done.run, **{"from": 1, "to": 2})
    assert "1 file changed" in said(html)
    assert "NOTES.md" in html


def test_a_snapshot_nobody_took_is_not_found(reader: Client, done: Scene) -> None:
    assert reader.get(reverse("review", args=[done.run.pk]), {"to": 99}).status_code == 404
    assert reader.get(reverse("review", args=[done.run.pk]), {"to": "x"}).status_code == 404


def test_a_run_without_a_workspace_has_nothing_to_review_yet(reader: Client, launch: Any) -> None:
    assert "Nothing to review yet" in page(reader, launch({}))


def test_a_stranger_sees_nothing(client: Client, stranger: User, done: Scene) -> None:
    assert client.get(reverse("review", args=[done.run.pk])).status_code == 302
    client.force_login(stranger)
    assert client.get(reverse("review", args=[done.run.pk])).status_code == 403


# --- claims --------------------------------------------------------------------------------------


def test_without_a_proof_the_card_says_so(reader: Client, done: Scene) -> None:
    html = said(page(reader, done.run))
    assert "Proof of done No proof yet" in html
    assert "No verify command is named" in html


def test_a_claim_without_a_test_run_is_not_shown_to_be_true(reader: Client, done: Scene) -> None:
    done.finish(modified_files=["calc.py", "other.py"], test_result="All tests pass")
    html = said(page(reader, done.run))
    assert "Unproven" in html
    assert "“All tests pass” not shown" in html
    assert "named but not changed: other.py; changed but not named: NOTES.md" in html


def test_a_passing_test_run_after_the_last_edit_bears_the_claim_out(reader: Client, done: Scene) -> None:
    done.call("run_command", {"command": "python -m pytest -q", "exit_code": 0})
    done.finish(modified_files=["calc.py", "NOTES.md"], test_result="All tests pass")
    html = said(page(reader, done.run))
    assert "Passed python -m pytest -q exit 0" in html
    assert "the very ones it named" in html
    assert html.count("agrees") == 2


def test_a_test_run_before_the_last_edit_proves_nothing(reader: Client, done: Scene) -> None:
    done.call("run_command", {"command": "pytest", "exit_code": 0})
    done.call("edit_file", files={"calc.py": FIXED + "\n"})
    done.finish(test_result="pass")
    assert "but an agent changed files after it" in said(page(reader, done.run))


def test_what_a_human_put_back_is_not_held_against_the_agent(reader: Client, done: Scene) -> None:
    done.call("run_command", {"command": "pytest", "exit_code": 0})
    done.finish(modified_files=["calc.py", "NOTES.md"], test_result="pass")
    reader.post(reverse("revert", args=[done.run.pk]), {"path": "NOTES.md"})
    html = said(page(reader, done.run))
    assert "named but not changed" not in html
    assert "but a human put files back after it" in html


def test_a_failed_test_run_contradicts_the_claim(reader: Client, done: Scene) -> None:
    done.call("run_command", {"command": "pytest", "exit_code": 1})
    done.finish(test_result="All tests pass")
    assert "“All tests pass” contradicted" in said(page(reader, done.run))


def test_an_exit_code_behind_a_pipe_proves_nothing(reader: Client, done: Scene) -> None:
    done.call("run_command", {"command": "pytest -q | tail -3", "exit_code": 0})
    done.finish(test_result="All tests pass")
    assert "may not be the tests" in said(page(reader, done.run))


# --- remarks -------------------------------------------------------------------------------------


def test_a_comment_stands_at_its_line(reader: Client, done: Scene, teammate: User) -> None:
    review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Why **this**?")
    html = page(reader, done.run)
    after = html.split('-n2">', 1)[1].split("</tr>", 1)[1]
    assert 'class="notes"' in after[:40]
    assert "<strong>this</strong>" in after[:1500]


def test_a_comment_follows_its_line_when_lines_come_above(reader: Client, done: Scene, teammate: User) -> None:
    review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Follow me.")
    done.call("edit_file", files={"calc.py": f"# one\n# two\n{FIXED}"})
    html = page(reader, done.run)
    assert "Follow me." in html.split('-n4">', 1)[1].split("</tr>", 2)[1]


def test_a_comment_on_a_line_that_is_gone_stands_at_the_file(reader: Client, done: Scene, teammate: User) -> None:
    review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Gone?")
    done.call("edit_file", files={"calc.py": FIXED.replace("a + b", "b + a")})
    html = page(reader, done.run)
    notes = html.split("data-file-notes>", 1)[1].split("</div></div>", 1)[0]
    assert "Gone?" in html
    assert "at snapshot 2" in notes + html


def test_a_finding_of_the_reviewer_stands_at_its_line(reader: Client, done: Scene) -> None:
    done.found({"severity": "major", "file": "calc.py", "line": 2, "message": "Say why.", "suggestion": "A comment."})
    html = page(reader, done.run)
    assert "Say why." in html.split('-n2">', 1)[1].split("</tr>", 2)[1]
    assert "Reviewer: approve, 8 of 10" in said(html)


def test_a_remark_on_the_whole_is_shown_above_the_files(reader: Client, done: Scene, teammate: User) -> None:
    review.comment(done.run, teammate, path="", line=None, side="new", body="Nice.")
    assert "On the whole" in said(page(reader, done.run))


def test_the_comment_form_works_on_a_page_of_its_own(reader: Client, done: Scene) -> None:
    url = reverse("comment", args=[done.run.pk])
    html = reader.get(url, {"path": "calc.py", "line": "2", "side": "new"}).content.decode()
    assert 'name="line" inputmode="numeric" value="2"' in html
    answer = reader.post(url, {"path": "calc.py", "line": "2", "side": "new", "body": "Why?"})
    assert answer.status_code == 302
    assert Comment.objects.get().line == 2


def test_a_refused_comment_keeps_its_text(reader: Client, done: Scene) -> None:
    url = reverse("comment", args=[done.run.pk])
    answer = reader.post(url, {"path": "calc.py", "line": "0", "side": "new", "body": "My words"})
    assert answer.status_code == 422
    assert "My words" in answer.content.decode()


def test_a_script_gets_the_comment_alone(reader: Client, done: Scene) -> None:
    url = reverse("comment", args=[done.run.pk])
    answer = reader.post(url, {"path": "calc.py", "line": "2", "body": "Why?"}, headers={"X-Requested-With": "fetch"})
    assert answer.status_code == 201
    assert answer.content.decode().startswith("<article")


def test_a_comment_can_be_taken_back(reader: Client, done: Scene, teammate: User) -> None:
    row = review.comment(done.run, teammate, path="calc.py", line=2, side="new", body="Why?")
    reader.post(reverse("comment_delete", args=[done.run.pk, row.pk]), {"path": "calc.py"})
    assert not Comment.objects.exists()


# --- reverts -------------------------------------------------------------------------------------


def test_a_revert_is_shown_exactly_before_it_is_made(reader: Client, done: Scene) -> None:
    html = reader.get(reverse("revert", args=[done.run.pk]), {"path": "calc.py"}).content.decode()
    assert "return</span> a <mark" in html
    assert Run.objects.get(pk=done.run.pk).snapshot == 2


def test_after_a_revert_the_page_offers_to_undo_it(reader: Client, done: Scene) -> None:
    url = reverse("revert", args=[done.run.pk])
    assert reader.post(url, {"path": "calc.py"}).status_code == 302
    html = page(reader, done.run)
    assert "calc.py is back to the baseline. You reverted it" in said(html)
    undo = re.search(r'name="to" value="(\d+)"', html.split('id="undo"', 1)[1])
    assert undo is not None
    reader.post(url, {"path": "calc.py", "to": undo[1]})
    assert snapshots.read(done.run.place, "calc.py").data.decode() == FIXED


def test_one_hunk_is_reverted_by_its_link(reader: Client, done: Scene) -> None:
    link = re.search(r'href="([^"]*hunk=[^"]*)"', page(reader, done.run))
    assert link is not None
    html = reader.get(link[1].replace("&amp;", "&")).content.decode()
    assert "Revert 1 hunk" in said(html)


def test_lines_that_a_human_brought_back_are_the_humans(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    made.call("write_file", files={"calc.py": "one\n"})
    made.call("write_file", files={"calc.py": "two\n"})
    reader.post(reverse("revert", args=[made.run.pk]), {"path": "calc.py", "to": 1})
    assert '<a href="' in page(reader, made.run)
    assert 'class="mine" aria-label="You put calc.py back to snapshot 1' in page(reader, made.run)


def test_a_revert_while_the_agent_works_says_to_pause(reader: Client, done: Scene) -> None:
    done.stand(Status.IMPLEMENTING)
    answer = reader.post(reverse("revert", args=[done.run.pk]), {"path": "calc.py"})
    assert answer.status_code == 409
    assert "Pause the run first" in answer.content.decode()


# --- the verdict ---------------------------------------------------------------------------------


def test_approval_says_what_comes_next(reader: Client, done: Scene) -> None:
    answer = reader.post(reverse("decide", args=[done.run.pk]), {"verdict": "approve", "summary": "", "seen": 2})
    assert answer.status_code == 302
    html = said(page(reader, done.run))
    branch = f"sakura/{done.run.task_id}-mend-add"
    assert f"Push {branch}" in html
    assert "Download the patch" in html
    assert "git fetch" in html


def test_the_push_is_one_click(reader: Client, done: Scene) -> None:
    reader.post(reverse("decide", args=[done.run.pk]), {"verdict": "approve"})
    reader.post(reverse("push", args=[done.run.pk]))
    assert "Pushed to the source as" in said(page(reader, done.run))


def test_a_second_push_is_told_as_the_success_that_it_was(reader: Client, done: Scene) -> None:
    reader.post(reverse("decide", args=[done.run.pk]), {"verdict": "approve"})
    for _ in range(2):
        answer = reader.post(reverse("push", args=[done.run.pk]), follow=True)
    html = said(answer.content.decode())
    assert f"The branch sakura/{done.run.task_id}-mend-add was pushed at" in html
    assert "not pushed" not in html


def test_an_empty_request_for_changes_is_an_error_by_its_field(reader: Client, done: Scene) -> None:
    answer = reader.post(reverse("decide", args=[done.run.pk]), {"verdict": "request_changes", "summary": " "})
    assert answer.status_code == 422
    assert 'aria-describedby="summary-error"' in answer.content.decode()


def test_who_decides_second_keeps_their_text(reader: Client, done: Scene, owner: User) -> None:
    review.decide(done.run, owner, "request_changes", "Mine first.")
    answer = reader.post(
        reverse("decide", args=[done.run.pk]), {"verdict": "request_changes", "summary": "My own words"}
    )
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "owner asked for changes at" in html
    assert "My own words" in html


def test_who_comes_after_an_approval_keeps_their_text_too(reader: Client, done: Scene, owner: User) -> None:
    review.decide(done.run, owner, "approve", "")
    answer = reader.post(reverse("decide", args=[done.run.pk]), {"verdict": "reject", "summary": "My own words"})
    assert answer.status_code == 409
    assert "Someone was faster." in answer.content.decode()
    assert "My own words" in answer.content.decode()


def test_a_disabled_action_says_why(client: Client, done: Scene) -> None:
    client.force_login(person("vera", Role.VIEWER))
    html = page(client, done.run)
    assert "This needs the role reviewer" in html
    assert 'name="verdict"' not in html
    assert "Revert file" not in html


def test_who_may_only_watch_can_post_nothing(client: Client, done: Scene) -> None:
    client.force_login(person("vera", Role.VIEWER))
    for name in ("comment", "revert", "decide", "push"):
        assert client.post(reverse(name, args=[done.run.pk]), {"verdict": "approve"}).status_code == 403
    assert Kind.REVIEW not in list(done.run.events.values_list("kind", flat=True))


def test_the_patch_is_a_download_that_git_takes(reader: Client, done: Scene) -> None:
    answer = reader.get(reverse("patch", args=[done.run.pk]))
    assert answer["Content-Disposition"] == f'attachment; filename="sakura-{done.run.task_id}-run1.patch"'
    assert answer.content == snapshots.patch(done.run.place)


def test_a_path_that_no_tree_can_hold_is_not_found(reader: Client, done: Scene) -> None:
    address = reverse("revert", args=[done.run.pk])
    assert reader.get(address, {"path": "a\0b"}).status_code == 404
    assert reader.post(address, {"path": "a\0b", "to": "0"}).status_code == 404


def test_more_files_than_can_be_shown_are_counted_and_the_first_are_shown(
    reader: Client, done: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = snapshots.changes(done.run.place)
    monkeypatch.setattr("workspaces.diffs.FILES_LIMIT", 1)
    page = said(reader.get(reverse("review", args=[done.run.pk])).content.decode())
    assert everything.file_count > 1
    assert f"1 of {everything.file_count} files are on this page" in page
    assert "the patch holds them all" in page
