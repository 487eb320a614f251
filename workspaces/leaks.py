"""Finds secrets in text, those only that can hardly be anything else: private keys and tokens of known makers."""

import re
from dataclasses import dataclass

_KINDS = {
    "private key": (
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+"
        r"(?:[A-Za-z-]+: [^\n]*\n)*\s*[A-Za-z0-9+/=\\\n]{60}"
    ),
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "AWS secret key": r"(?i:aws_secret_access_key|aws_secret_key)[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+]{40}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b",
    "GitLab token": r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[0-9]{6,}-[A-Za-z0-9-]{20,}",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "Google service account key": r"\"private_key_id\"\s*:\s*\"[0-9a-f]{40}\"",
    "Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{24,}",
    "Anthropic key": r"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{60,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    "Hugging Face token": r"\bhf_[A-Za-z]{34}\b",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}\b",
}
_ANY = re.compile("|".join(f"(?P<k{number}>{pattern})" for number, pattern in enumerate(_KINDS.values())))
_NAMES = list(_KINDS)


@dataclass(frozen=True)
class Leak:
    """Where a secret stands, and of what kind it is; never the secret."""

    line: int
    kind: str


def find(text: str, known: str = "") -> Leak | None:
    """Return the first secret in `text` that does not stand in `known` already. A maker's own EXAMPLE is none."""
    for match in _ANY.finditer(text):
        if match[0] not in known and "EXAMPLE" not in match[0]:
            assert match.lastgroup is not None
            return Leak(text.count("\n", 0, match.start()) + 1, _NAMES[int(match.lastgroup[1:])])
    return None
