"""A repository's credential: sealed in the database, opened only for the git that needs it."""

import base64
import re

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

USER = "x-access-token"
"""The user name sent with a token that names none; GitHub and GitLab take any, others want "name:token"."""

_IN_URL = re.compile(r"(\w[\w+.-]*://)[^\s/@]+@")
_IN_HEADER = re.compile(r"(?i)(authorization:\s*\w+\s+)\S+")


class CredentialUnreadable(Exception):
    """What is stored was sealed with another SAKURA_SECRET_KEY."""


def seal(text: str) -> bytes:
    """Return the credential ("token" or "user:token") encrypted; empty text gives empty bytes."""
    return _box().encrypt(text.encode()) if text else b""


def unseal(sealed: bytes) -> str:
    """Return the credential. Raises CredentialUnreadable when the server's secret key is not the one of then."""
    if not sealed:
        return ""
    try:
        return _box().decrypt(sealed).decode()
    except InvalidToken:
        raise CredentialUnreadable(
            "The stored credential was encrypted with another SAKURA_SECRET_KEY; enter it again."
        ) from None


def header(url: str, sealed: bytes) -> dict[str, str]:
    """Return the environment that makes git send the credential to this URL's server, and to no other."""
    text = unseal(sealed)
    pair = text if ":" in text else f"{USER}:{text}"
    server = re.match(r"https://[^/]+/", f"{url}/")
    assert server is not None
    return {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"http.{server[0]}.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}",
        "GIT_CONFIG_KEY_1": "http.followRedirects",
        "GIT_CONFIG_VALUE_1": "initial",
    }


def masked(text: str, *secrets: str) -> str:
    """Return the text without the secrets, passwords in URLs and authorization headers."""
    for secret in secrets:
        for part in {secret, secret.partition(":")[2]} - {""}:
            text = text.replace(part, "•••")
    return _IN_HEADER.sub(r"\1•••", _IN_URL.sub(r"\1•••@", text))


def _box() -> Fernet:
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"sakura repository credential")
    return Fernet(base64.urlsafe_b64encode(kdf.derive(settings.SECRET_KEY.encode())))
