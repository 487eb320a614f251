"""What went wrong with a provider, as plain sentences; no key ever gets into one."""

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from agents.providers.base import ProviderError, Trouble
from workspaces import cuts

MAX_DETAIL_CHARS = 300
READ_CHARS = 10_000

_KEYS = re.compile(r"\b(?:sk|pk|key|gsk|xai)[-_][\w*.-]{4,}|(?i:bearer)\s+\S+")
_CONTEXT = re.compile(
    r"prompt is too long|context[ _](?:length|window|size)|maximum context|too many (?:input )?tokens", re.IGNORECASE
)
_NO_MODEL = re.compile(
    r"model\b.{0,120}\b(?:not found|does(?: not|n't) exist|not exist|unknown)|(?:invalid|unknown) model", re.I
)


@dataclass(frozen=True)
class Server:
    """Who was asked, for the sentences. `key` is only there to be masked."""

    label: str
    url: str
    model: str
    key_variable: str
    key: str = field(repr=False)

    @property
    def host(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


@dataclass(frozen=True)
class Failure:
    """What a server said when it refused: HTTP status (0 for an error inside a stream), its words, its kinds."""

    status: int
    detail: str
    kinds: frozenset[str]
    retry_after_s: float | None = None

    def is_any(self, *kinds: str) -> bool:
        return not self.kinds.isdisjoint(kinds)


def masked(text: str, key: str) -> str:
    """Return the text without the key and without anything that looks like one."""
    if key:
        text = text.replace(key, "***")
    return _KEYS.sub("***", text)


def translate(error: Exception, server: Server) -> ProviderError:
    """Return the error of an SDK, of HTTP or of JSON as a ProviderError."""
    body = getattr(error, "body", None)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) or body is not None:
        return refused(failure(error, server), server)
    return _broken(error, server)


def failure(error: Exception, server: Server) -> Failure:
    """Return what the server said in an SDK's error."""
    status = getattr(error, "status_code", 0)
    words, kinds = _read(getattr(error, "body", None))
    response = getattr(error, "response", None)
    headers = response.headers if response is not None else {}
    detail = cuts.head(masked(" ".join(words.split()), server.key), MAX_DETAIL_CHARS)
    return Failure(status if status >= 400 else 0, detail, kinds, _retry_after(headers))


def _read(body: Any) -> tuple[str, frozenset[str]]:
    match body:
        case {"error": dict() | str() as inner}:
            return _read(inner)
        case dict():
            words = body.get("message") or body.get("detail") or ""
            kinds = (body.get("type"), body.get("code"))
            return cuts.head(str(words), READ_CHARS), frozenset(kind for kind in kinds if isinstance(kind, str))
        case str():
            # A proxy's error page says nothing to a human.
            return ("" if "<html" in body[:1000].lower() else cuts.head(body, READ_CHARS)), frozenset()
        case _:
            return "", frozenset()


def _retry_after(headers: Any) -> float | None:
    """Return the seconds of Retry-After, which may be a number or a date (RFC 9110, 10.2.3)."""
    value = str(headers.get("retry-after", "")).strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def refused(what: Failure, server: Server) -> ProviderError:
    """Return the ProviderError for a refusal; the first rule that fits says what it is."""
    said = f" It says: {what.detail}" if what.detail else ""
    trouble, sentence, retryable = _verdict(what, server)
    return ProviderError(trouble, sentence + said, retryable=retryable, retry_after_s=what.retry_after_s)


def _verdict(what: Failure, server: Server) -> tuple[Trouble, str, bool]:
    who, model, status = server.label, server.model, what.status
    if status == 413 or _CONTEXT.search(what.detail) or what.is_any("context_length_exceeded"):
        return Trouble.CONTEXT_FULL, f"The conversation no longer fits into the context window of {model}.", False
    if status == 402 or what.is_any("insufficient_quota", "billing_error") or "credit balance" in what.detail:
        return Trouble.QUOTA, f"The account at {who} has no credit or quota left.", False
    if status == 401 or what.is_any("authentication_error", "invalid_api_key"):
        return Trouble.WRONG_KEY, _wrong_key(server), False
    if status == 403 or what.is_any("permission_error"):
        return Trouble.WRONG_KEY, f"{who} refuses this key, account or region the use of {model}.", False
    if what.is_any("model_not_found") or (status in (0, 400, 404) and _NO_MODEL.search(what.detail)):
        return Trouble.UNKNOWN_MODEL, f"{who} knows no model {model}.", False
    if status == 404 or what.is_any("not_found_error"):
        return Trouble.UNKNOWN_MODEL, f"{who} knows no model {model}, or {server.url} is not its base URL.", False
    if status == 429 or what.is_any("rate_limit_error", "rate_limit_exceeded"):
        return Trouble.RATE_LIMIT, f"{who} limits the rate of requests.", True
    if status in (503, 529) or what.is_any("overloaded_error"):
        return Trouble.OVERLOADED, f"{who} is overloaded.", True
    if status in (408, 504) or what.is_any("timeout_error"):
        return Trouble.TIMEOUT, f"{who} took too long to answer.", True
    if status >= 500 or what.is_any("api_error", "server_error"):
        return Trouble.OVERLOADED, f"{who} has an internal error" + (f" ({status})." if status else "."), True
    if status >= 400 or what.is_any("invalid_request_error"):
        return Trouble.BAD_REQUEST, f"{who} refuses the request ({status or 400}).", False
    return Trouble.BAD_ANSWER, f"{who} broke its answer off with an error.", True


def _wrong_key(server: Server) -> str:
    if not server.key:
        return f"{server.label} wants a key; name its variable as key_variable in SAKURA_MODELS."
    return f"{server.label} does not accept the key in {server.key_variable}. Set a valid one and restart the server."


def _broken(error: Exception, server: Server) -> ProviderError:
    who, host = server.label, server.host
    causes = list(_causes(error))
    names = " ".join(type(cause).__name__ for cause in causes)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return ProviderError(
            Trouble.UNREACHABLE, f"The TLS certificate of {host} can't be verified; is it the right host?"
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ProviderError(Trouble.UNREACHABLE, f"There is no TLS connection to {host}; is it https?", retryable=True)
    if "ConnectTimeout" in names:
        return ProviderError(Trouble.UNREACHABLE, f"{host} can't be reached: no answer in 10 s.", retryable=True)
    if "Timeout" in names:
        return ProviderError(Trouble.TIMEOUT, f"{who} ({host}) sent nothing for too long.", retryable=True)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ProviderError(Trouble.UNREACHABLE, f"Nothing listens at {host}; is the server running?", retryable=True)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ProviderError(Trouble.UNREACHABLE, f"The name {host} can't be resolved.", retryable=True)
    if "ConnectError" in names:
        return ProviderError(Trouble.UNREACHABLE, f"{host} can't be reached.", retryable=True)
    if any(isinstance(cause, ValueError) for cause in causes):
        return ProviderError(Trouble.BAD_ANSWER, f"{who} ({host}) sent something that is not JSON.", retryable=True)
    return cut_off(server)


def cut_off(server: Server) -> ProviderError:
    """Return the error for an answer that ended too early."""
    sentence = f"The connection to {server.label} ({server.host}) ended in the middle of the answer."
    return ProviderError(Trouble.BAD_ANSWER, sentence, retryable=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__
