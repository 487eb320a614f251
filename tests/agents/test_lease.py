"""Leases: one holder, fenced by its epoch, taken over when it is gone."""

import os
import subprocess
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from agents import events, lease
from agents.events import Fact, LeaseLost
from agents.models import Kind, Run, Status
from agents.session import Session
from tests.agents.test_team import SCRIPT

pytestmark = pytest.mark.django_db(transaction=True)


def dead_owner() -> str:
    """Return the name of a process of this machine that has ended."""
    machine, boot, _, _ = lease.owner().split(":")
    child = subprocess.Popen(["true"])
    name = f"{machine}:{boot}:{child.pid}:{lease.start_time(child.pid)}"
    child.wait()
    return name


def test_a_claim_takes_the_oldest_run_once(launch: Callable[..., Run]) -> None:
    first, second = launch(SCRIPT), launch(SCRIPT)
    held = [lease.claim(), lease.claim(), lease.claim()]
    assert [each.run_id if each else None for each in held] == [first.pk, second.pk, None]


def test_a_run_of_a_dead_process_is_taken_over_at_once_with_its_tree(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    lease.claim()
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    held = lease.claim()
    assert held is not None
    assert (held.epoch, held.took_over, held.kept_tree) == (2, True, True)


def test_a_dead_process_that_nobody_waited_for_is_gone() -> None:
    machine, boot, _, _ = lease.owner().split(":")
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    name = f"{machine}:{boot}:{child.pid}:{lease.start_time(child.pid)}"
    assert not lease.is_gone(name)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    assert lease.is_gone(name)
    child.communicate()


def test_a_process_of_another_container_may_live_whatever_its_number() -> None:
    machine, boot, _, _ = lease.owner().split(":")
    ident, host, space = machine.rsplit(".", 2)
    assert not lease.is_gone(f"{ident}.{host}.{int(space) + 1}:{boot}:999999999:1")
    assert lease.is_gone(f"{machine}:{boot}:999999999:1")


def test_a_run_of_an_owner_that_may_live_waits_for_the_lease_and_gets_a_new_tree(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    lease.claim()
    Run.objects.filter(pk=run.pk).update(lease_owner="elsewhere:boot:1:1")
    assert lease.claim() is None
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    held = lease.claim()
    assert held is not None
    assert not held.kept_tree


def test_an_old_epoch_can_write_nothing(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    held = lease.claim()
    assert held is not None
    session = Session(held)
    Run.objects.filter(pk=run.pk).update(lease_epoch=held.epoch + 1)
    before = Run.objects.get(pk=run.pk).last_seq
    with pytest.raises(LeaseLost):
        events.append(run.pk, Fact(Kind.NOTE, {"text": "ghost", "to": "human"}), epoch=held.epoch)
    with pytest.raises(LeaseLost):
        session.move(Status.IMPLEMENTING)
    with pytest.raises(LeaseLost):
        session.update(step=9)
    assert Run.objects.get(pk=run.pk).last_seq == before


def test_after_three_takeovers_without_progress_a_human_is_asked(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    lease.claim()
    for _ in range(lease.TAKEOVERS):
        Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
        assert lease.claim() is not None
    Run.objects.filter(pk=run.pk).update(lease_owner=dead_owner())
    assert lease.claim() is None
    run.refresh_from_db()
    assert run.state is Status.NEEDS_ATTENTION


def test_a_renewal_moves_the_end_of_the_lease(launch: Callable[..., Run]) -> None:
    run = launch(SCRIPT)
    lease.claim()
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() + timedelta(seconds=1))
    assert lease.renew([run.pk])
    run.refresh_from_db()
    assert run.lease_until is not None
    assert run.lease_until > timezone.now() + timedelta(seconds=20)


def test_of_many_workers_one_wins(launch: Callable[..., Run]) -> None:
    launch(SCRIPT)
    won: list[lease.Lease] = []
    barrier = threading.Barrier(8)

    def race() -> None:
        barrier.wait(timeout=10)
        if held := lease.claim():
            won.append(held)
        connection.close()

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(won) == 1
