"""What is sealed in the database: a repository's credential, opened only for the git that needs it, and its secrets."""

import base64
import functools
import re

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from workspaces.logs import opened

CREDENTIAL, SECRET = b"sakura repository credential", b"sakura repository secret"
"""What a box is for: each kind of thing is sealed with a key of its own, derived from the server's."""

USER = "x-access-token"
"""The user name sent with a token that names none; GitHub and GitLab take any, others want "name:token"."""

_IN_URL = re.compile(r"(\w[\w+.-]*://)[^\s/@]+@")
_IN_HEADER = re.compile(r"(?i)(authorization:\s*\w+\s+)\S+")


class CredentialUnreadable(Exception):
    """What is stored was sealed with another SAKURA_SECRET_KEY."""


def seal(text: str, kind: bytes = CREDENTIAL) -> bytes:
    """Return the text (a credential is "token" or "user:token") encrypted; empty text gives empty bytes."""
    return _box(kind, settings.SECRET_KEY).encrypt(text.encode()) if text else b""


def unseal(sealed: bytes, kind: bytes = CREDENTIAL, name: str = "credential") -> str:
    """Return the text; from now on the log of this process never shows it, but `name` in its place.

    Raises CredentialUnreadable when the server's secret key is not the one of then.
    """
    if not sealed:
        return ""
    try:
        text = _box(kind, settings.SECRET_KEY).decrypt(sealed).decode()
    except InvalidToken:
        raise CredentialUnreadable(
            f"The stored {name} was encrypted with another SAKURA_SECRET_KEY; enter it again."
        ) from None
    opened.remember(name, text.partition(":")[2] or text if kind == CREDENTIAL else text)
    return text


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


@functools.lru_cache(maxsize=4)
def _box(kind: bytes, key: str) -> Fernet:
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=kind)
    return Fernet(base64.urlsafe_b64encode(kdf.derive(key.encode())))
