"""The masks of runs and of the whole installation: which secrets there are now, opened once and kept in the process."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from agents.models import Secret
from workspaces import credentials
from workspaces.masking import Mask

log = logging.getLogger(__name__)

KEPT = 200
"""Masks of runs that a process keeps."""
FRESH_S = 2.0
"""How long a mask is taken for the present one; whoever stores something asks for the version in any case."""
ALL = 2000
"""Secrets of all repositories that answers are searched for, those set last first."""

_STATE = (
    "SELECT CAST(COUNT(*) AS TEXT) || ' ' || COALESCE(CAST(MAX(secret.id) AS TEXT), '') || ' ' "
    "|| COALESCE(CAST(MAX(secret.set_at) AS TEXT), '') FROM agents_secret AS secret"
)
VERSION_SQL = (
    f"({_STATE} JOIN agents_task AS task ON task.repository_id = secret.repository_id "
    "WHERE task.id = agents_run.task_id)"
)
"""The version of the secrets of a run's repository, for a statement about agents_run: another one for each change."""
NONE = "0  "


@dataclass(frozen=True)
class _Kept:
    version: str
    mask: Mask
    at: float


_runs: OrderedDict[int, _Kept] = OrderedDict()
_all = _Kept(NONE, Mask(), 0.0)
_lock = threading.Lock()
_nothing = Mask()


def of_run(run_id: int) -> Mask:
    """Return the mask of all secrets of a run's repository, as of two seconds ago at most. One query at most."""
    known = _runs.get(run_id)
    if known is not None and time.monotonic() - known.at < FRESH_S:
        return known.mask
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {VERSION_SQL} FROM agents_run WHERE id = %s", [run_id])  # noqa: S608  no value in it
        row = cursor.fetchone()
    return of_version(run_id, str(row[0]) if row else NONE)


def kept(run_id: int) -> tuple[str, Mask]:
    """Return the mask of a run that this process has, with its version; without a query."""
    found = _runs.get(run_id)
    return (found.version, found.mask) if found else (NONE, _nothing)


def of_version(run_id: int, version: str) -> Mask:
    """Return the run's mask of this version, which the caller has just read; a query where it is not known yet."""
    known = _runs.get(run_id)
    if known is not None and known.version == version:
        mask = known.mask
    else:
        mask = _nothing if version == NONE else Mask(values(Secret.objects.filter(repository__tasks__runs=run_id)))
    with _lock:
        _runs[run_id] = _Kept(version, mask, time.monotonic())
        _runs.move_to_end(run_id)
        while len(_runs) > KEPT:
            _runs.popitem(last=False)
    return mask


def of_repository(repository_id: int) -> Mask:
    """Return the mask of a repository's secrets. One query."""
    return Mask(values(Secret.objects.filter(repository=repository_id)))


def of_all() -> Mask:
    """Return the mask of all repositories' secrets. One query, two after one was set or deleted."""
    global _all
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        version = str(cursor.fetchone()[0])
    known = _all
    if known.version != version:
        mask = _nothing if version == NONE else Mask(values(Secret.objects.order_by("-set_at")[:ALL]))
        known = _all = _Kept(version, mask, time.monotonic())
    return known.mask


def last_of_all() -> Mask:
    """Return the mask of all secrets as it was when the database was last asked."""
    return _all.mask


def values(rows: Iterable[Secret]) -> list[tuple[str, str]]:
    """Return names and values; what was sealed with another key is left out, as nobody here can know its value."""
    found = []
    for row in rows:
        try:
            found.append((row.name, credentials.unseal(bytes(row.sealed), credentials.SECRET, row.name)))
        except credentials.CredentialUnreadable as error:
            log.warning("Repository %s: %s", row.repository_id, error)
    return found
