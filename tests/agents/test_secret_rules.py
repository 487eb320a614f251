"""Which command lines get a secret, and which rules may say so."""

import pytest

from agents import secret_rules
from agents.blocklist import BadRule

GIVEN = [
    "npm publish",
    "npm publish --access public",
    "npm publish 2>&1",
    "npm publish >/dev/null",
    "npm publish && npm publish --tag next",
    "npm publish; # done",
    "/usr/bin/npm publish",
    "n'p'm publish",
    "npm publish &",
]
NOT_GIVEN = [
    "npm publish && env",
    "npm publish | tee x",
    "npm publish > out.txt",
    *("npm publish > 1", "npm publish 2>> 2", "npm publish &> 1", "npm publish >| -", "npm publish 2>&1\u0661"),
    *("npm publish\f#; env", "npm publish\v#; env", "npm publish\r#; env", "npm\fpublish", "\ufeffnpm publish"),
    "npm publish < /dev/null",
    "echo $NPM_TOKEN",
    'npm publish "$NPM_TOKEN"',
    "npm publish ${NPM_TOKEN:+x}",
    "npm publish $(env)",
    "npm publish `env`",
    "npm publish <(env)",
    "npm publish <<< $NPM_TOKEN",
    "npm publish <<E\nx\nE",
    "npm publish *.tgz",
    "A=1 npm publish",
    "PATH=. npm publish",
    "eval npm publish",
    "sh -c 'npm publish'",
    "timeout 9 npm publish",
    "env npm publish",
    "npm() { env; }; npm publish",
    "function npm { env; }\nnpm publish",
    "alias npm=env; npm publish",
    "coproc npm publish",
    "case $NPM_TOKEN in a*) npm publish;; esac",
    "(( NPM_TOKEN )); npm publish",
    "./npm publish",
    "bin/npm publish",
    "npm --loglevel silly publish",
    "npm run publish",
    "npm publish 'unclosed",
    "export NPM_TOKEN; npm publish",
    "set -x; npm publish",
    "",
    "# npm publish",
]


@pytest.mark.parametrize("line", GIVEN)
def test_a_plain_line_of_the_named_command_gets_it(line: str) -> None:
    assert secret_rules.gets(line, ["npm publish *"])


@pytest.mark.parametrize("line", NOT_GIVEN)
def test_whatever_else_the_line_does_nothing_is_given(line: str) -> None:
    assert not secret_rules.gets(line, ["npm publish *"])


def test_a_rule_without_a_star_means_just_that() -> None:
    assert secret_rules.gets("npm publish", ["npm publish"])
    assert not secret_rules.gets("npm publish --dry-run", ["npm publish"])
    assert secret_rules.gets("cd pkg && npm publish", ["npm publish", "cd *"])


@pytest.mark.parametrize("rule", ["*", "run_command", "run_command(*)", "n* publish", "?pm", "", "npm | tee", "'npm"])
def test_a_rule_that_fits_anything_or_nothing_is_refused(rule: str) -> None:
    with pytest.raises(BadRule):
        secret_rules.check(rule)
