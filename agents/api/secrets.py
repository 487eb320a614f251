"""Secrets of a repository: which there are, set one, delete one. No answer ever holds a value."""

from datetime import datetime

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from agents import secrets
from agents.api.auth import caller, operator
from agents.api.errors import not_found
from agents.models import Secret
from workspaces.models import Repository

router = Router(tags=["repositories"])

PLACE = "/repositories/{int:repository_id}/secrets"


class SecretIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: str = Field(
        max_length=2 * secrets.MOST,
        description=f"{secrets.LEAST} to {secrets.MOST:,} characters. Stored sealed, never shown.",
    )


class SecretOut(BaseModel):
    name: str = Field(description="The variable that commands get it in.")
    set_by: str
    set_at: datetime
    readable: bool = Field(description="False: it was sealed with another SAKURA_SECRET_KEY, so set it again.")


class SecretsOut(BaseModel):
    secrets: list[SecretOut]


@router.get(PLACE, response=SecretsOut)
def listing(request: HttpRequest, repository_id: int) -> SecretsOut:
    """List the secrets of a repository by name, without their values."""
    rows = _find(repository_id).secrets.select_related("set_by").order_by("name")[: secrets.PER_REPOSITORY]
    return SecretsOut(secrets=[_out(row) for row in rows])


@router.put(PLACE + "/{name}", response=SecretOut, auth=operator)
def put(request: HttpRequest, repository_id: int, name: str, asked: SecretIn) -> SecretOut:
    """Set or replace a secret. It is masked in what runs show from now on."""
    return _out(secrets.put(_find(repository_id), caller(request), name, asked.value))


@router.delete(PLACE + "/{name}", response={204: None}, auth=operator)
def delete(request: HttpRequest, repository_id: int, name: str) -> None:
    """Forget a secret; tasks that name it go on without it."""
    secrets.delete(_find(repository_id), caller(request), name)


def _find(repository_id: int) -> Repository:
    row = Repository.objects.filter(pk=repository_id).first()
    if row is None:
        raise not_found(f"repository {repository_id}")
    return row


def _out(row: Secret) -> SecretOut:
    by = row.set_by.get_username() if row.set_by else ""
    return SecretOut(name=row.name, set_by=by, set_at=row.set_at, readable=secrets.is_readable(row))
