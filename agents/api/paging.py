"""Lists come in pages: which page is asked for, and what is said of it."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from pydantic import BaseModel, Field

Row = TypeVar("Row", bound=Model)


class PageQuery(BaseModel):
    page: int = Field(1, ge=1, le=100_000)


class Paged(BaseModel):
    page: int
    pages: int
    count: int = Field(description="Rows on all pages.")


def page_of(rows: QuerySet[Row], page: int, per_page: int) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows of the page and the fields of Paged. Two queries."""
    count = rows.count()
    start = (page - 1) * per_page
    return list(rows[start : start + per_page]), figures(count, page, per_page)


def figures(count: int, page: int, per_page: int) -> dict[str, Any]:
    """Return the fields of Paged."""
    return {"page": page, "pages": max(1, -(-count // per_page)), "count": count}
