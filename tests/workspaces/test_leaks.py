"""Secrets that can hardly be anything else, and what only looks like one."""

import pytest

from workspaces import leaks

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
# Put together here, so that no file of this repository holds one.
SECRETS = {
    "private key": f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{BODY}\n",
    "AWS access key": "AKIA" + "Q3EGRZ5TPLMNOXYZ",
    "AWS secret key": "aws_secret_access_key = '" + "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEYA" + "'",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "Stripe key": "sk_" + "live_" + "a1B2c3" * 5,
    "Anthropic key": "sk-" + "ant-api03-" + "a1B2" * 20,
    "Google API key": "AIza" + "S" * 35,
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_a_secret_is_found_with_its_line(kind: str, secret: str) -> None:
    assert leaks.find(f"one\ntwo {secret}\n") == leaks.Leak(2, kind)
    assert leaks.find(f"x {secret}\n", known=f"old {secret}\n") is None


@pytest.mark.parametrize(
    "text",
    [
        "if line.startswith('-----BEGIN PRIVATE KEY-----'):",
        "AKIAIOSFODNN7EXAMPLE",
        "password = 'hunter2'",
        "sha = '" + "0123456789abcdef" * 4 + "'",
        "ghp_short",
    ],
)
def test_what_only_looks_like_one_is_let_through(text: str) -> None:
    assert leaks.find(text) is None
