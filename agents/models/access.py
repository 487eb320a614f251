"""Who may do what, and the secrets that let somebody in: roles, API tokens, one-time login links."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import models
from django.utils import timezone

LOGIN_LINK_LIFE = timedelta(minutes=30)
TOKEN_LIFE = timedelta(days=90)


class Role(models.TextChoices):
    """The roles, kept as groups of these names; a user has a set of them."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    ADMIN = "admin"


def roles_of(user: User | AnonymousUser | AbstractBaseUser) -> frozenset[Role]:
    """Return the user's roles; an admin has them all, an inactive user none. One query, kept on the user."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    kept: frozenset[Role] | None = getattr(user, "_sakura_roles", None)
    if kept is None:
        names = set(user.groups.filter(name__in=Role.values).values_list("name", flat=True))
        all_roles = user.is_superuser or Role.ADMIN in names
        kept = frozenset(Role) if all_roles else frozenset(Role(name) for name in names)
        user._sakura_roles = kept  # type: ignore[attr-defined]
    return kept


def has_role(user: User | AnonymousUser | AbstractBaseUser, role: Role) -> bool:
    """Return whether the user holds the role. To watch (viewer), any role is enough."""
    held = roles_of(user)
    return bool(held) if role is Role.VIEWER else role in held


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiToken(models.Model):
    """A bearer token: stored hashed, with roles of its own (never more than its user's) and an end."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    roles = models.JSONField(default=list)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"

    @classmethod
    def make(
        cls, user: User, name: str, roles: list[Role] | None = None, life: timedelta = TOKEN_LIFE
    ) -> tuple["ApiToken", str]:
        """Store a new token and return it with its secret, which is not kept."""
        secret = f"sakura_{secrets.token_urlsafe(32)}"
        wanted = sorted(roles if roles is not None else roles_of(user))
        row = cls.objects.create(
            user=user, name=name, digest=_digest(secret), roles=wanted, expires_at=timezone.now() + life
        )
        return row, secret

    @classmethod
    def user_of(cls, secret: str) -> User | None:
        """Return the active user whose live token this is, with the token's roles in force; else None."""
        row = cls.objects.select_related("user").filter(digest=_digest(secret), expires_at__gt=timezone.now()).first()
        if row is None or not row.user.is_active:
            return None
        user: User = row.user
        user._sakura_roles = roles_of(user) & frozenset(Role(name) for name in row.roles)  # type: ignore[attr-defined]
        row._note_use()
        return user

    def _note_use(self) -> None:
        """Keep when the token was last used, to the minute: a program that polls must not write each time."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > timedelta(minutes=1):
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=now)


class LoginLink(models.Model):
    """A link that logs its user in once, within half an hour."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="login_links")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"login link of {self.user_id}"

    @classmethod
    def make(cls, user: User) -> str:
        """Store a new link and return its secret, which is not kept."""
        secret = secrets.token_urlsafe(32)
        cls.objects.create(user=user, digest=_digest(secret), expires_at=timezone.now() + LOGIN_LINK_LIFE)
        return secret

    @classmethod
    def peek(cls, secret: str) -> User | None:
        """Return whom the link would log in, without spending it; None when it is unknown, spent or too old."""
        row = cls._live(secret).select_related("user").first()
        return None if row is None else row.user

    @classmethod
    def _live(cls, secret: str) -> "models.QuerySet[LoginLink]":
        now = timezone.now()
        return cls.objects.filter(digest=_digest(secret), used_at=None, expires_at__gt=now, user__is_active=True)

    @classmethod
    def use(cls, secret: str) -> User | None:
        """Spend the link and return its user; None when it is unknown, spent or too old."""
        if cls._live(secret).update(used_at=timezone.now()) != 1:
            return None
        user: User = cls.objects.select_related("user").get(digest=_digest(secret)).user
        return user


class IdempotencyKey(models.Model):
    """The answer to a POST that named an Idempotency-Key, kept a day so that a repeat gets the same."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=200)
    request = models.CharField(max_length=64, help_text="sha256 of method, path and body.")
    status = models.PositiveSmallIntegerField(null=True, help_text="None while the first request is still at work.")
    body: Any = models.JSONField(null=True)
    created_at: datetime = models.DateTimeField(auto_now_add=True)  # type: ignore[assignment]

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_idempotency_key")]

    def __str__(self) -> str:
        return self.key
