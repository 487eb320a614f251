"""Changed parameters, held against what bash itself makes of them."""

import subprocess

import pytest

from workspaces.shell.parameters import modified

VALUE = "a/b.tar.gz"
CHANGES = [
    *("#*/", "##*.", "%.*", "%%.*", "#b", "%", ":1", ":2:3", ": -2", ":0:-3", ":100", ":(-2)"),
    *("/a/x", "//a/x", "/#a/x", "/%gz/x", "/./", "//[ab]/_", "/?/-", "^", "^^", ",", ",,"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_what_bash_gives(change: str) -> None:
    script = f'value={VALUE}; printf %s "${{value{change}}}"'
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert modified(VALUE, change) == printed


@pytest.mark.parametrize("change", ["#$x", "/'a'/b", ":$n", "@Q", "#" + "?" * 200])
def test_a_change_that_is_not_plain_is_unknown(change: str) -> None:
    assert modified(VALUE, change) is None


def test_a_long_value_is_unknown() -> None:
    assert modified("x" * 1001, "#x") is None
