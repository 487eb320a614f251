"""Finds secrets in text, those only that can hardly be anything else: private keys and tokens of known makers."""

import re
from dataclasses import dataclass

_KINDS = (
    (
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+"
        r"(?:[A-Za-z-]+: [^\n]*\n)*\s*[A-Za-z0-9+/=\\\n]{60}",
    ),
    ("AWS access key", "AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
    ("AWS temporary access key", "ASIA", r"\bASIA[0-9A-Z]{16}\b"),
    ("AWS secret key", "aws_secret", r"aws_secret_access_key[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+]{40}\b"),
    ("AWS secret key", "AWS_SECRET", r"AWS_SECRET_ACCESS_KEY[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+]{40}\b"),
    ("GitHub token", "gh", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    ("GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{60,255}\b"),
    ("GitLab token", "gl", r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    ("Slack token", "xox", r"\bxox[abeoprs]-[0-9]{6,}-[A-Za-z0-9-]{20,}"),
    ("Google API key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("Google service account key", "private_key_id", r"\"private_key_id\"\s*:\s*\"[0-9a-f]{40}\""),
    ("Stripe key", "k_live_", r"\b[rs]k_live_[0-9A-Za-z]{24,}"),
    ("Anthropic key", "sk-ant-", r"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{60,}"),
    ("OpenAI key", "T3BlbkFJ", r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", "pypi-AgEIcHlwaS5vcmc", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", "hf_", r"\bhf_[A-Za-z]{34}\b"),
    ("SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    ("DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
)
"""Kind, a text that every such secret has in it (looked for first, since that is fast), and its shape."""


@dataclass(frozen=True)
class Leak:
    """Where a secret stands, and of what kind it is; never the secret."""

    line: int
    kind: str


def find(text: str, known: str = "") -> Leak | None:
    """Return the first secret in `text` that does not stand in `known` already. A maker's own EXAMPLE is none."""
    for kind, sign, shape in _KINDS:
        for match in re.finditer(shape, text) if sign in text else ():
            if match[0] not in known and "EXAMPLE" not in match[0]:
                return Leak(text.count("\n", 0, match.start()) + 1, kind)
    return None
