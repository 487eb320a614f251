"""The review page beside its diff: the proof, the integrity of the tests, claims and facts, what approval asks."""

import os
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.models import Policy, ProofState, Review, Role, Run, Status
from tests.agents.proven import COMMAND, REPORT, TESTS, proven
from tests.agents.reviewing import FIXED, Scene, scene
from tests.agents.views.pages import Page
from tests.agents.views.test_reviews import page, said
from tests.conftest import person
from workspaces import snapshots
from workspaces.models import Repository

pytestmark = pytest.mark.django_db
EVIL = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def reader(client: Client, teammate: User) -> Client:
    client.force_login(teammate)
    return client


def worked(repository: Repository, **policy: Any) -> Scene:
    """Return a run with verify commands whose implementer mended calc.py."""
    made = scene(repository, policy=Policy(verify=["pytest -q"], **policy).model_dump())
    made.call("edit_file", files={"calc.py": FIXED, "NOTES.md": "notes\n"})
    return made


@pytest.fixture
def made(repository: Repository) -> Scene:
    return worked(repository)


def decide(reader: Client, run: Run, **given: Any) -> Any:
    return reader.post(reverse("decide", args=[run.pk]), {"verdict": "approve", "seen": run.snapshot, **given})


# --- the proof -----------------------------------------------------------------------------------


def test_a_green_proof_names_command_exit_code_tests_and_tree(reader: Client, made: Scene) -> None:
    proven(made)
    html = page(reader, made.run)
    assert "Proof of done Green Snapshot 1, run by Sakura itself on tree ab12cd3" in said(html)
    assert "Passed pytest -q exit 0 · 9.4 s" in said(html)
    assert "Run as pytest -q --junitxml=" in said(html)
    assert "21 passed 1 skipped" in said(html)
    assert f'title="ab12cd34{"0" * 32}"' in html
    assert "Why approve although" not in html


def test_a_red_proof_names_the_tests_and_shows_what_was_printed(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RED, put_back=["tests/test_calc.py"], left_out=[{"path": "conftest.py", "why": "Planted."}])
    html = said(page(reader, made.run))
    assert "1 test that passed at the base fails now." in html
    assert "Passed at the base, and did not run 1 tests/test_calc.py::gone" in html
    assert "Failing 1 tests/test_calc.py::test_add" in html
    assert "FAILED tests/test_calc.py::test_add" in html
    assert "Put back to the baseline for the proof 1 file tests/test_calc.py" in html
    assert "Left out of the proof 1 planted file conftest.py Planted." in html


def test_the_whole_output_is_a_link_away(reader: Client, made: Scene) -> None:
    proven(made, commands=[COMMAND | {"output_ref": "proof-1.txt"}])
    assert reverse("run_output", args=[made.run.pk, "proof-1.txt"]) in page(reader, made.run)


def test_files_that_changed_since_make_a_proof_stale(reader: Client, made: Scene) -> None:
    proven(made)
    made.call("edit_file", files={"calc.py": FIXED + "\n"})
    html = said(page(reader, made.run))
    assert "Proof of done Stale since snapshot 2 It was green at snapshot 1; files changed since." in html
    assert "Why approve although the proof is stale?" in html


@pytest.mark.parametrize("state", [ProofState.WAITING, ProofState.RUNNING])
def test_a_proof_in_the_making_is_asked_for_again_by_the_page(reader: Client, made: Scene, state: ProofState) -> None:
    proven(made, state, commands=[], tests={})
    html = page(reader, made.run)
    assert "js/proof.js" in html
    assert "Why approve although the proof is not made yet?" in said(html)
    part = page(reader, made.run, part="proof")
    assert part.strip().startswith("<section")
    assert "data-fresh" in part
    assert 'id="proof-card"' in part
    assert "Claims" not in part


def test_a_proof_that_is_done_is_asked_for_no_more(reader: Client, made: Scene) -> None:
    proven(made)
    assert "data-fresh" not in page(reader, made.run, part="proof")
    assert "js/proof.js" not in page(reader, made.run)


def test_without_a_command_one_that_was_found_is_taken_by_one_click(client: Client, done: Scene) -> None:
    repository = done.run.task.repository
    repository.setup, repository.verify = ["pip install .", "true"], []
    repository.suggestions = {"verify": [{"command": "pytest -q", "because": "pyproject.toml"}]}
    repository.save()
    client.force_login(person("olga", Role.OPERATOR))
    html = Page(page(client, done.run))
    button = next(each for each in html.find("button", name="take"))
    form = next(each for each in button.parents[::-1] if each.tag == "form")
    fields = [each for each in html.find("input") if form in each.parents]
    given = {each.attrs["name"]: each.attrs["value"] for each in fields}
    client.post(form.attrs["action"], given | {"take": button.attrs["value"]})
    repository.refresh_from_db()
    assert repository.verify == ["pytest -q"]
    assert repository.setup == ["pip install .", "true"]


def test_who_may_not_change_the_repository_is_not_offered_to(client: Client, done: Scene) -> None:
    client.force_login(person("rita", Role.REVIEWER))
    done.run.task.repository.suggestions = {"verify": [{"command": "pytest -q"}]}
    done.run.task.repository.save()
    html = page(client, done.run)
    assert "No verify command is named" in said(html)
    assert 'name="take"' not in html


def test_names_and_outputs_become_no_markup(reader: Client, made: Scene) -> None:
    report = {"findings": [{"kind": "removed", "path": EVIL, "why": EVIL, "old": EVIL}], "count": 1} | {
        "counts": {"removed": 1}, "locks": [EVIL], "unread": [[EVIL, EVIL]]
    }  # fmt: skip
    proven(
        made,
        ProofState.RED,
        reasons=[EVIL],
        commands=[COMMAND | {"command": EVIL, "ran_as": f"{EVIL} 2", "output_tail": EVIL, "why": EVIL}],
        tests={"failing": [EVIL], "failing_count": 1},
        put_back=[EVIL],
        left_out=[{"path": EVIL, "why": EVIL}],
        integrity=report,
    )
    html = page(reader, made.run)
    assert "<img" not in html
    assert "\u202e" not in html


def test_what_is_not_named_is_counted(reader: Client, made: Scene) -> None:
    names = [f"test_{number}" for number in range(50)]
    proven(made, ProofState.RED, tests=TESTS | {"failing": names, "failing_count": 712, "failed": 712})
    html = said(page(reader, made.run))
    assert "Failing 712" in html
    assert "and 662 more" in html


# --- integrity -----------------------------------------------------------------------------------


def test_findings_stand_by_kind_with_their_lines_and_lead_into_the_diff(reader: Client, made: Scene) -> None:
    proven(made, integrity=REPORT)
    html = page(reader, made.run)
    words = said(html)
    assert "Integrity of the tests 1 removed · 1 loosened 1 test added" in words
    assert words.index("A test is gone.") < words.index("The check accepts more") < words.index("A new test.")
    assert "Lock files differ, reported only: poetry.lock" in words
    assert "Not looked into 1 file tests/huge.py It is over 2 MB." in words
    link = re.search(r'<a href="#(f-\w+-n2)" data-file-link><code>calc\.py:2</code>', html)
    assert link
    assert f'id="{link[1]}"' in html


def test_a_file_that_is_not_in_the_diff_has_no_link(reader: Client, made: Scene) -> None:
    proven(made, integrity=REPORT)
    assert re.search(r"<p><code>&lt;b&gt;gone&lt;/b&gt;\.py:7</code>", page(reader, made.run))


def test_nothing_changed_is_said_too(reader: Client, made: Scene) -> None:
    proven(made)
    words = said(page(reader, made.run))
    assert "Integrity of the tests Intact Nothing that decides what the tests mean was changed." in words


def test_a_task_that_may_change_tests_says_so_always(reader: Client, repository: Repository) -> None:
    made = worked(repository, may_change_tests=True)
    html = page(reader, made.run)
    assert "This task may change existing tests." in said(html)
    head = next(each for each in Page(html).find("section") if each.attrs.get("aria-label") == "The task")
    assert "May change existing tests" in head.words


def test_a_task_that_may_not_says_nothing_of_it(reader: Client, made: Scene) -> None:
    assert "ay change existing tests" not in page(reader, made.run)


# --- claims --------------------------------------------------------------------------------------


def test_sakuras_own_proof_bears_a_claim_out(reader: Client, made: Scene) -> None:
    made.finish(modified_files=["calc.py", "NOTES.md"], test_result="All tests pass")
    proven(made)
    words = said(page(reader, made.run))
    assert "Proven pytest -q exit 0 · 21 passed, 1 skipped · run by Sakura on snapshot 1, tree ab12cd3" in words
    assert "“All tests pass” agrees" in words


def test_a_red_proof_contradicts_a_claim_whatever_the_agents_own_command_showed(reader: Client, made: Scene) -> None:
    made.call("run_command", {"command": "pytest -q || true", "exit_code": 0})
    made.call("run_command", {"command": "pytest -q tests/test_easy.py", "exit_code": 0})
    made.finish(summary="The tests all pass.")
    proven(made, ProofState.RED)
    words = said(page(reader, made.run))
    assert "“The tests all pass” contradicted" in words
    assert "Passed pytest -q tests/test_easy.py exit 0 · by the implementer, after the last edit" in words


def test_a_stale_proof_shows_nothing_of_the_files_now(reader: Client, made: Scene) -> None:
    proven(made)
    made.call("edit_file", files={"calc.py": FIXED + "\n"})
    made.finish(test_result="pass")
    words = said(page(reader, made.run))
    assert "Stale the proof of snapshot 1, tree ab12cd3 was green, and files changed since" in words
    assert "“pass” not shown" in words


def test_a_reviewer_that_says_to_have_run_the_tests_is_held_to_it(reader: Client, made: Scene) -> None:
    proven(made)
    Review.objects.create(run=made.run, round=1, verdict="approve", summary="I ran the tests. Fine.", snapshot=1)
    words = said(page(reader, made.run))
    assert "Unproven it ran no command that looks like a test run itself" in words
    assert "“I ran the tests” not shown" in words


def test_a_reviewer_that_relies_on_a_green_proof_is_borne_out(reader: Client, made: Scene) -> None:
    proven(made)
    Review.objects.create(run=made.run, round=1, verdict="approve", summary="The tests pass.", snapshot=1)
    assert "The reviewer said: “The tests pass” agrees" in said(page(reader, made.run))


def test_risk_stands_beside_what_was_touched_and_gets_no_score(reader: Client, repository: Repository) -> None:
    made = scene(repository)
    files = {".github/workflows/ci.yml": "on: push\n", "poetry.lock": "x\n", "tests/test_new.py": "x = 1\n"}
    made.call("run_command", files={"calc.py": FIXED, "pytest.ini": "[pytest]\n", **files})
    made.finish(risk_level="low")
    proven(made, integrity=REPORT)
    words = said(page(reader, made.run))
    assert "Risk 5 files +" in words
    assert "1 test options file pytest.ini" in words
    assert "1 CI file .github/workflows/ci.yml" in words
    assert "1 lock file poetry.lock" in words
    assert "existing test tests" not in words
    assert "Tests’ meaning changed 1 removed · 1 loosened" in words
    assert "“low risk”" in words
    assert "“low risk” agrees" not in words


# --- what approval asks --------------------------------------------------------------------------


def test_approving_a_red_proof_asks_for_a_sentence_and_nothing_else_does(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RED)
    html = Page(page(reader, made.run))
    field = html.one("input", name="despite")
    assert "required" in field.attrs
    buttons = {each.attrs["value"]: each.attrs for each in html.find("button", name="verdict")}
    assert "formnovalidate" in buttons["reject"]
    assert "formnovalidate" in buttons["request_changes"]
    assert "formnovalidate" not in buttons["approve"]


def test_a_refused_approval_keeps_what_was_written(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RED)
    answer = decide(reader, made.run, summary="Well done", despite="No.")
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Nothing was decided." in html
    assert "Well done" in html
    field = Page(html).one("input", name="despite")
    assert field.attrs["value"] == "No."
    assert field.attrs["aria-invalid"] == "true"


def test_an_approval_with_a_sentence_shows_it(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RED)
    assert decide(reader, made.run, despite="The test of add is wrong & old.").status_code == 302
    made.run.refresh_from_db()
    assert made.run.state is Status.APPROVED
    assert "Approved although the proof is red: “The test of add is wrong &amp; old.”" in page(reader, made.run)


def test_the_reviewers_sentence_stands_beside_its_verdict(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RED)
    Review.objects.create(run=made.run, round=1, verdict="approve", score=7, snapshot=1, despite=f"It is fine. {EVIL}")
    html = page(reader, made.run)
    head = next(each for each in Page(html).find("section") if each.attrs.get("aria-label") == "The task")
    assert "Reviewer: approve, 7 of 10" in head.words
    assert "The reviewer approved although the proof is red: “It is fine." in head.words
    assert "<img" not in html


def test_without_a_verify_command_nobody_is_asked(reader: Client, done: Scene) -> None:
    proven(done, ProofState.UNPROVEN, commands=[], tests={})
    assert 'name="despite"' not in page(reader, done.run)


# --- its cost ------------------------------------------------------------------------------------


def test_the_queries_do_not_grow_with_a_proof_and_what_it_found(reader: Client, repository: Repository) -> None:
    small, large = worked(repository), worked(repository)
    proven(small)
    many = [{"kind": "removed", "path": f"tests/test_{n}.py", "why": "Gone.", "old_line": 1} for n in range(300)]
    proven(large, ProofState.RED, integrity={"findings": many, "count": 900, "counts": {"removed": 900}})
    counts = []
    for made in (small, large):
        page(reader, made.run)
        with CaptureQueriesContext(connection) as queries:
            page(reader, made.run)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 23, [query["sql"][:160] for query in queries]


def test_the_card_alone_takes_few_queries(reader: Client, made: Scene) -> None:
    proven(made, ProofState.RUNNING, commands=[], tests={})
    with CaptureQueriesContext(connection) as queries:
        page(reader, made.run, part="proof")
    assert len(queries) <= 10, [query["sql"][:160] for query in queries]


def test_what_can_not_be_kept_is_shown(reader: Client, made: Scene) -> None:
    assert "Not kept" not in said(page(reader, made.run))
    os.mkfifo(made.run.place.tree / "<b>pipe")
    snapshots.take(made.run.place, call_id="", step=0, paths=None)
    html = page(reader, made.run)
    assert "Not kept 1 path" in said(html)
    assert "it is a device, FIFO or socket" in said(html)
    assert "<b>pipe" not in html
