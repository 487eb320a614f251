"""What a command does to protected paths is put back at once, by whatever means it was done; all is told and kept."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents import journal, strip, tested, transcript
from agents.models import Agent, Kind, Run, Status
from agents.models.run import Event
from agents.views import remarks
from tests.agents.test_lease import dead_owner
from tests.agents.test_recovery import Killed, kill_at
from tests.agents.test_team import EDIT, FINISH, READ, results, review, say
from tests.conftest import git, work_once
from workspaces import known, restoring, snapshots, sources, store, trees
from workspaces.models import Repository, Snapshot

pytestmark = pytest.mark.django_db(transaction=True)

TEST = "tests/test_calc.py"


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"name": "run_command", "input": {"command": command, **more}}


@pytest.fixture
def work() -> Callable[[], Run | None]:
    return work_once


def committed(source: Path, repository: Repository) -> dict[str, Any]:
    """Commit what the test wrote into the source, mirror it, and return the fields of a task that starts there."""
    git(source, "add", "--all", "--force")
    git(source, "commit", "--quiet", "-m", "More")
    sources.refresh(repository)
    return {"base_commit": sources.resolve(repository, "main")}


def played(launch: Callable[..., Run], work: Callable[[], Run | None], *commands: str, **fields: Any) -> Run:
    """Play a run whose implementer gives these commands, one a step, mends the code and finishes."""
    steps = [say(shell(command)) for command in commands]
    launch({"implementer": [*steps, say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}, **fields)
    run = work()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN, run.reason
    ran = [each for each in results(run) if each["tool"] == "run_command"]
    assert all(isinstance(each["data"].get("exit_code"), int) for each in ran), ran
    return run


def guards(run: Run) -> list[Event]:
    return list(run.events.filter(kind=Kind.GUARD).order_by("seq"))


def paths(run: Run) -> list[tuple[str, str]]:
    return [(row["path"], row["status"]) for event in guards(run) for row in event.data["paths"]]


def is_as_at_the_base(run: Run, *but: str) -> None:
    """Hold the tree, on disk and in the last snapshot, against the base: nothing but `but` differs."""
    assert {file.path for file in snapshots.changes(run.place).files} == {"calc.py", *but}
    text = store.read_blob(store.ensure(run.place.repository), entry(run, 0, TEST).oid)
    path = run.place.tree / TEST
    path.parent.chmod(0o755)  # which no snapshot holds
    assert path.read_bytes() == text
    assert not path.is_symlink()
    assert not path.parent.is_symlink()
    assert path.stat().st_mode & 0o111 == 0
    assert snapshots.take(run.place, call_id="", step=99, paths=None) is None


def entry(run: Run, number: int, path: str) -> store.TreeEntry:
    snapshot = store.at(run.place, number)
    found = store.entry(store.ensure(run.place.repository), snapshot.tree, path.encode())
    assert found is not None
    return found


# --- by whatever means -------------------------------------------------------------------------------

TRICKS = {
    "sed": (f"sed -i s/5/-1/ {TEST}", [(TEST, "modified")]),
    "python": (f"python3 -c \"open('{TEST}', 'w').write('')\"", [(TEST, "modified")]),
    "append": (f"echo 'def test_x(): pass' >> {TEST}", [(TEST, "modified")]),
    "remove": (f"rm {TEST}", [(TEST, "deleted")]),
    "remove-folder": ("rm -rf tests", [(TEST, "deleted")]),
    "move": (f"mv {TEST} tests/later.py", [(TEST, "renamed")]),
    "move-folder": ("mv tests checks", [(TEST, "renamed")]),
    "executable": (f"chmod +x {TEST}", [(TEST, "modified")]),
    "link": (f"ln -sf /dev/null {TEST}", [(TEST, "type")]),
    "folder-link": ("mv tests t; ln -s t tests", [("tests", "added"), (TEST, "renamed")]),
    "folder-link-outside": ("rm -r tests; ln -s /tmp tests", [("tests", "added"), (TEST, "deleted")]),
    "file-for-folder": ("rm -r tests; echo x > tests", [("tests", "added"), (TEST, "deleted")]),
    "folder-for-file": (
        f"rm {TEST}; mkdir {TEST}; echo x > {TEST}/x.py",
        [(TEST, "deleted"), (f"{TEST}/x.py", "added")],
    ),
    "empty-folders-for-file": (f"rm {TEST}; mkdir -p {TEST}/a/b {TEST}/c", [(TEST, "deleted")]),
    "fifo": (f"rm {TEST}; mkfifo {TEST}", [(TEST, "deleted")]),
    "closed-folder": (f"rm {TEST}; chmod 555 tests", [(TEST, "deleted")]),
    "shut-folder": (f"echo x > {TEST}; chmod 000 {TEST} tests", [(TEST, "modified")]),
    "checkout": (f"git checkout -q -b x && git rm -q {TEST} && git commit -qm x", [(TEST, "deleted")]),
    "stash": (f"echo '#' >> {TEST}; git stash -q; git stash pop -q", [(TEST, "modified")]),
    "pipeline": (
        "mkdir -p .github/workflows; echo x > .github/workflows/x.yml",
        [(".github/workflows/x.yml", "added")],
    ),
    "pipeline-link": (
        "mkdir -p a/workflows; echo x > a/workflows/x.yml; ln -s a .github; rm -r a",
        [(".github", "added")],
    ),
    "editor-link": ("ln -s tests .vscode", [(".vscode", "added")]),
    "hooks-link-below": ("mkdir a; ln -s ../tests a/.husky", [("a/.husky", "added")]),
    "instructions-link": ("ln -s tests .sakura", [(".sakura", "added")]),
    "hard-link": (f"ln {TEST} a; echo x >> a; rm a", [(TEST, "modified")]),
    "time-back": (f"touch -r {TEST} a; sed -i s/5/6/ {TEST}; touch -r a {TEST}; rm a", [(TEST, "modified")]),
    "instructions": ("mkdir .sakura; echo x > .sakura/SAKURA.md", [(".sakura/SAKURA.md", "added")]),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_what_a_command_did_to_protected_paths_is_put_back(
    launch: Callable[..., Run], work: Callable[[], Run | None], trick: str
) -> None:
    command, expected = TRICKS[trick]
    run = played(launch, work, command)
    assert paths(run) == expected
    kept = {"move": ["tests/later.py"], "move-folder": ["checks/test_calc.py"], "folder-link": ["t/test_calc.py"]}
    is_as_at_the_base(run, *kept.get(trick, []))


def test_the_model_is_told_in_the_result_which_paths_which_rule_and_what_it_may_do(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    run = played(launch, work, f"sed -i s/5/-1/ {TEST}; echo done")
    result = results(run)[0]
    assert "done" in result["content"]
    assert f"- {TEST} (rule `existing tests`" in result["content"]
    assert "Write a new test in a file of its own" in result["content"]
    assert result["data"]["guard"] == {"put_back": 1, "left": 0}
    assert result["data"]["exit_code"] == 0


def test_the_call_its_evidence_and_what_was_put_back_are_told_together_and_in_this_order(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    run = played(launch, work, f"sed -i s/5/-1/ {TEST}; echo x > new.txt")
    call = run.events.filter(kind=Kind.TOOL_CALL).order_by("seq")[0]
    told = list(run.events.filter(seq__gt=call.seq).exclude(kind=Kind.OUTPUT).order_by("seq")[:4])
    assert [event.kind for event in told] == ["snapshot", "snapshot", "guard", "tool_result"]
    assert len({event.at for event in told}) == 1, "one transaction"
    evidence, after, guard = (event.data for event in told[:3])
    assert (evidence["number"], evidence["call_id"]) == (1, call.call_id)
    assert (after["number"], after["call_id"]) == (2, "")
    assert (guard["before"], guard["changed"], guard["snapshot"]) == (0, 1, 2)
    assert b"-1" in snapshots.read(run.place, TEST, 1).data
    assert b"5" in snapshots.read(run.place, TEST, 2).data
    assert snapshots.read(run.place, "new.txt", 2).data == b"x\n", "all else that it did stays"


def test_a_new_test_stays_and_nothing_is_said_of_it(launch: Callable[..., Run], work: Callable[[], Run | None]) -> None:
    run = played(
        launch, work, "echo 'def test_more(): pass' > tests/test_more.py; sed -i s/more/else/ tests/test_more.py"
    )
    assert guards(run) == []
    is_as_at_the_base(run, "tests/test_more.py")


def test_where_tests_may_be_changed_they_are(launch: Callable[..., Run], work: Callable[[], Run | None]) -> None:
    run = played(launch, work, f"sed -i s/5/-1/ {TEST}", policy={"may_change_tests": True})
    assert guards(run) == []
    assert "-1" in (run.place.tree / TEST).read_text()


def test_what_a_task_protects_is_put_back_too(launch: Callable[..., Run], work: Callable[[], Run | None]) -> None:
    run = played(launch, work, "echo x >> README.md", policy={"protected": ["README.md"]})
    assert paths(run) == [("README.md", "modified")]
    is_as_at_the_base(run)


def test_the_totals_of_the_run_are_those_after_it(launch: Callable[..., Run], work: Callable[[], Run | None]) -> None:
    launch({"implementer": [say(shell(f"seq 500 >> {TEST}")), say(FINISH)], "reviewer": [review("approve")]})
    run = work()
    assert run is not None
    assert (run.snapshot, run.changed_files, run.additions) == (2, 0, 0)


def test_more_paths_than_a_row_or_an_event_names_are_put_back(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    run = played(
        launch,
        work,
        "for i in $(seq 250); do mkdir -p a/$i; echo x > a/$i/f; done; mkdir -p .vscode; "
        "for i in $(seq 130); do echo x > .vscode/$i.json; done; rm -r tests",
    )
    (event,) = guards(run)
    assert (event.data["count"], len(event.data["paths"])) == (131, 100)
    assert "and 125 more" in results(run)[0]["content"]
    assert len(results(run)[0]["content"]) < 3000
    assert not (run.place.tree / ".vscode").exists()
    assert (run.place.tree / TEST).exists()
    assert (run.place.tree / "a/250/f").exists()


def test_odd_names_are_put_back(
    source: Path, repository: Repository, launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    names = [b"tests/t\xff\xfe.py", b"tests/a\nb.py", b"tests/\\xff.py", "tests/ü \u202e.py".encode(), b"tests/-rf.py"]
    for name in names:
        with open(str(source).encode() + b"/" + name, "wb") as file:
            file.write(name)
    run = played(launch, work, "rm -rf tests", **committed(source, repository))
    assert guards(run)[0].data["count"] == 6
    for name in names:
        with open(str(run.place.tree).encode() + b"/" + name, "rb") as file:
            assert file.read() == name
    is_as_at_the_base(run)


def test_a_tracked_test_that_the_rules_ignore_is_put_back(
    source: Path, repository: Repository, launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    (source / ".gitignore").write_text("tests\n")
    run = played(
        launch,
        work,
        f"echo x > {TEST}",
        "rm -r tests; ln -s /tmp tests",
        **committed(source, repository),
    )
    assert paths(run) == [(TEST, "modified"), (TEST, "deleted")]
    is_as_at_the_base(run)


def test_a_bit_a_link_and_an_absence_are_put_back_as_they_were(
    source: Path, repository: Repository, launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    (source / "tests" / "run.sh").write_text("#!/bin/sh\n")
    (source / "tests" / "run.sh").chmod(0o755)
    (source / "tests" / "data").symlink_to("../README.md")
    run = played(
        launch,
        work,
        "chmod -x tests/run.sh; ln -sf /etc/passwd tests/data",
        **committed(source, repository),
    )
    assert paths(run) == [("tests/data", "modified"), ("tests/run.sh", "modified")]
    assert (run.place.tree / "tests/data").readlink() == Path("../README.md")
    assert (run.place.tree / "tests/run.sh").stat().st_mode & 0o111
    is_as_at_the_base(run)


def test_no_link_is_followed_out_of_the_tree(
    tmp_path: Path, launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    run = played(launch, work, f"rm -r tests; ln -s {outside} tests")
    assert list(outside.iterdir()) == []
    is_as_at_the_base(run)


def test_tests_that_pass_while_they_are_changed_prove_nothing(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    run = played(launch, work, f"sed -i s/5/-1/ {TEST} && python3 -m unittest discover -s tests")
    found = tested.last_tests(run)
    assert found is not None
    assert (found.exit_code, found.proves) == (0, False)
    assert found.edited_after == "Sakura put protected files back"


def test_the_page_shows_it_in_red_and_names_nobody_else_as_its_writer(
    launch: Callable[..., Run], work: Callable[[], Run | None], teammate: User
) -> None:
    run = played(launch, work, f"sed -i s/5/-1/ {TEST}")
    card, guard = (patch["html"] for patch in transcript.latest(run).patches if "data-failed" in patch["html"])
    assert "It changed protected files; they were put back" in card
    assert f"/runs/{run.pk}/review/?from=1&amp;to=2" in guard
    assert "existing tests" in guard
    assert "Put back" in guard
    (mark,) = (mark for mark in strip.of(run).marks if mark.look == "failed")
    assert mark.label == f"Step 1: ran sed -i s/5/-1/ {TEST}, protected files put back"
    chain = remarks.chain(run)
    assert remarks.writers(run, chain, remarks.reverts(run, teammate))[2].label == "Sakura"


# --- what can't be put back --------------------------------------------------------------------------


@pytest.mark.parametrize("then", [f"rm -r {TEST}", f"rm -r {TEST}; echo 'assert True' > {TEST}"])
def test_what_would_lose_a_file_that_no_snapshot_has_is_told_and_tried_again(
    source: Path, repository: Repository, launch: Callable[..., Run], work: Callable[[], Run | None], then: str
) -> None:
    (source / ".gitignore").write_text("*.log\n")
    run = played(
        launch,
        work,
        f"rm {TEST}; mkdir {TEST}; echo x > {TEST}/x.log",
        "echo 1 > one.txt",
        then,
        **committed(source, repository),
    )
    first, second = guards(run)
    assert first.data["count"] == 0
    (left,) = first.data["left"]
    assert (left["path"], left["status"], left["rule"]) == (TEST, "deleted", "existing tests")
    assert "would be lost" in left["why"]
    assert "could not be put back" in results(run)[0]["content"]
    assert "put back" not in results(run)[1]["content"], "it was told once"
    assert (second.data["count"], second.data["left"]) == (1, [])
    assert "put back" in results(run)[2]["content"]
    is_as_at_the_base(run, "one.txt")


# --- in the background -------------------------------------------------------------------------------


def test_what_a_background_command_did_is_put_back_when_it_ends(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    spoil = f"while :; do echo x > {TEST}; sleep 0.01; done"
    behind = shell(f"echo x > {TEST}; echo up; {spoil}", run_in_background=True)
    listen = {"name": "command_output", "input": {"id": "bg1", "until": "up"}}
    launch(
        {"implementer": [say(behind), say(listen), say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}
    )
    run = work()
    assert run is not None
    assert run.state is Status.AWAITING_HUMAN, run.reason
    last = guards(run)[-1]
    assert last.data["call_id"] == ""
    assert last.data["paths"][0]["path"] == TEST
    notes = run.events.filter(kind=Kind.NOTE, data__to=Agent.IMPLEMENTER).values_list("data__text", flat=True)
    assert any("in the background changed protected paths" in note for note in notes)
    is_as_at_the_base(run)
    shown = [event.data["number"] for event in run.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert shown == list(range(run.snapshot + 1))


def test_a_command_beside_it_is_held_to_it_as_well(launch: Callable[..., Run], work: Callable[[], Run | None]) -> None:
    behind = shell(f"echo x > {TEST}; echo up; tail -f {TEST}", run_in_background=True)
    listen = {"name": "command_output", "input": {"id": "bg1", "until": "up"}}
    steps = [say(behind), say(listen), say(shell("echo 1 > one.txt")), say(READ), say(EDIT), say(FINISH)]
    launch({"implementer": steps, "reviewer": [review("approve")]})
    run = work()
    assert run is not None
    assert paths(run) == [(TEST, "modified")]
    is_as_at_the_base(run, "one.txt")


# --- a server killed in between ----------------------------------------------------------------------


def taken_over(run: Run, *, owner_is_gone: bool = True) -> Run:
    """Work until the kill, then let the next server take the run over and end it."""
    with pytest.raises(Killed):
        pytest.fail(f"it ended by itself: {results(run) if work_once() else None}")
    known.memory._known.clear()  # what the dead process had in memory
    owner = dead_owner() if owner_is_gone else "elsewhere:boot:1:1"
    Run.objects.filter(pk=run.pk).update(lease_owner=owner, lease_until=timezone.now() - timedelta(seconds=1))
    ended = work_once()
    assert ended is not None
    assert ended.state is Status.AWAITING_HUMAN, ended.reason
    return ended


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (restoring, "restore", False),
        (trees, "put", True),
        (restoring, "restore", True),
        (journal, "finish", False),
    ],
    ids=["before", "files-written", "snapshot-taken", "before-result"],
)
@pytest.mark.parametrize("owner_is_gone", [True, False], ids=["tree-kept", "tree-laid-out-anew"])
def test_what_a_killed_server_began_to_put_back_the_next_one_ends(
    launch: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    after: bool,
    owner_is_gone: bool,
) -> None:
    script = {
        "implementer": [say(shell("rm -r tests; ln -s /tmp tests; echo x > x.txt")), say(READ), say(EDIT), say(FINISH)],
        "reviewer": [review("approve")],
    }
    run = launch(script)
    kill_at(monkeypatch, owner, name, after=after, of="run_command" if owner is journal else "")
    run = taken_over(run, owner_is_gone=owner_is_gone)
    assert (run.place.epoch > 1) is not owner_is_gone
    assert results(run)[0]["code"] == "INTERRUPTED", results(run)[0]
    (event,) = guards(run)
    assert event.data["changed"] == 1
    assert {path for path, _ in paths(run)} == {"tests", TEST}
    assert TEST in results(run)[0]["content"]
    is_as_at_the_base(run, "x.txt")
    shown = [event.data["number"] for event in run.events.filter(kind=Kind.SNAPSHOT).order_by("seq")]
    assert shown == list(range(run.snapshot + 1))


def test_what_lost_background_commands_did_is_put_back_by_the_next_server(
    launch: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = shell(f"echo x > {TEST}; echo up; tail -f {TEST}", run_in_background=True)
    listen = {"name": "command_output", "input": {"id": "bg1", "until": "up"}}
    run = launch(
        {"implementer": [say(behind), say(listen), say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]}
    )
    kill_at(monkeypatch, journal, "finish", after=False, of="read_file")
    run = taken_over(run)
    assert paths(run) == [(TEST, "modified")]
    is_as_at_the_base(run)


# --- file tools --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        {"name": "edit_file", "input": {"file_path": TEST, "old_string": "5", "new_string": "-1"}},
        {"name": "write_file", "input": {"file_path": TEST, "content": ""}},
        {"name": "write_file", "input": {"file_path": ".github/workflows/x.yml", "content": ""}},
    ],
)
def test_a_file_tool_is_denied_and_nothing_needs_putting_back(
    launch: Callable[..., Run], work: Callable[[], Run | None], call: dict[str, Any]
) -> None:
    look = {"name": "read_file", "input": {"file_path": TEST}}
    launch({"implementer": [say(look), say(call), say(READ), say(EDIT), say(FINISH)], "reviewer": [review("approve")]})
    run = work()
    assert run is not None
    assert results(run)[1]["code"] == "PROTECTED_PATH"
    assert guards(run) == []
    assert Snapshot.objects.filter(workspace=run.place).count() == 2


def test_an_edit_costs_no_comparison_of_trees(
    launch: Callable[..., Run], work: Callable[[], Run | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("trees were compared")

    monkeypatch.setattr("agents.guard.raw_changes", refuse)
    run = played(launch, work, "echo x > x.txt")
    assert guards(run) == []


def test_a_reviewers_commands_are_no_business_of_the_guard(
    launch: Callable[..., Run], work: Callable[[], Run | None]
) -> None:
    look = say(shell(f"rm {TEST}; echo gone"))
    launch({"implementer": [say(READ), say(EDIT), say(FINISH)], "reviewer": [look, review("approve")]})
    run = work()
    assert run is not None
    assert "gone" in next(each["content"] for each in results(run) if each["tool"] == "run_command")
    assert guards(run) == []
