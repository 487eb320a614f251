"""What people do with repositories: add a source, refresh its mirror, take it away."""

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from agents import doorbell
from agents.control import Refused
from agents.models import Role, has_role
from workspaces import credentials, sources
from workspaces.models import Repository

MIRRORING, READY, FAILED = Repository.Status.MIRRORING, Repository.Status.READY, Repository.Status.FAILED


def add(by: User, *, name: str, source: str, credential: str = "", **commands: Any) -> Repository:
    """Store a source (its commands already checked) and ring for a worker, which mirrors it.

    Raises Refused, or SourceError for a source that `by` may not add.
    """
    place = sources.check_source(source, is_admin=has_role(by, Role.ADMIN))
    if credential and not place.startswith("https://"):
        raise Refused(
            "INVALID_INPUT", "credential: only an https source takes one; ssh uses the server's own keys.", 422
        )
    sealed = credentials.seal(credential)
    try:
        with transaction.atomic():
            row = Repository.objects.create(name=name, source=place, credential=sealed, **commands)
            transaction.on_commit(doorbell.ring_workers, robust=True)
    except IntegrityError:
        raise Refused("NAME_TAKEN", f"name: there is a repository “{name}” already; choose another name.") from None
    return row


def refresh(row: Repository) -> None:
    """Ask the source for news, up to a minute; a mirror that failed is made again by a worker. Raises Refused."""
    if row.status == READY and not sources.refresh(row):
        row.refresh_from_db()
        why = row.error or "What is mirrored stays as it was."
        raise Refused("SOURCE_UNAVAILABLE", f"The source of “{row.name}” did not answer. {why}", 502)
    if row.status == FAILED:
        _mirror_again(row)
    row.refresh_from_db()


def _mirror_again(row: Repository) -> None:
    with transaction.atomic():
        Repository.objects.filter(pk=row.pk, status=FAILED).update(
            status=MIRRORING, error="", progress="", percent=None, cancel_requested=False
        )
        transaction.on_commit(doorbell.ring_workers, robust=True)


def remove(row: Repository) -> None:
    """Delete what Sakura keeps of a repository, never its source. Raises Refused while something needs it."""
    try:
        gone, _ = Repository.objects.filter(pk=row.pk).exclude(status=MIRRORING).delete()
    except ProtectedError:
        raise Refused("IN_USE", f"“{row.name}” has tasks, whose transcripts and changes would be lost.") from None
    if not gone:
        raise Refused("MIRRORING", f"“{row.name}” is being mirrored; cancel that on its page first.")
    sources.delete(row)
