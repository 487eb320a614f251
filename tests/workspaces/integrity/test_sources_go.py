"""Tricks and honest edits in tests written in Go."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet, compare, told
from workspaces.integrity.findings import FindingKind as Kind

PATH = "cart/cart_test.go"
BASE = """\
package cart

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const expected = 12

func newCart(prices ...int) *Cart {
	c := &Cart{}
	for _, p := range prices {
		c.Add(p)
	}
	return c
}

func TestTotal(t *testing.T) {
	got := Total(newCart(5, 7))
	if got != expected {
		t.Errorf("got %d", got)
	}
	if !reflect.DeepEqual(newCart(1).Prices, []int{1}) {
		t.Fatal("other prices")
	}
}

func TestTable(t *testing.T) {
	tests := []struct {
		name string
		in   []int
		want int
	}{
		{"one", []int{1}, 1},
		{"two", []int{2, 2}, 4},
		{name: "none", want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Total(newCart(tt.in...)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	_, err := Parse("x")
	if !errors.Is(err, ErrParse) {
		t.Fatalf("got %v", err)
	}
	if _, err := Parse("1"); err != nil {
		t.Fatal(err)
	}
}

func TestTestify(t *testing.T) {
	c := newCart(1, 2)
	require.NoError(t, c.Check())
	assert.Equal(t, 3, Total(c))
	assert.Len(t, c.Prices, 2)
	assert.InDelta(t, 0.3, c.Mean(), 0.001)
	assert.ErrorIs(t, c.Fail(), ErrFull)
	assert.True(t, c.Total == 3)
}
"""


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


_FIRST = '\tif got != expected {\n\t\tt.Errorf("got %d", got)\n\t}\n'
TRICKS = (
    edit("a check deleted", Kind.REMOVED, _FIRST, ""),
    edit("a check commented out", Kind.REMOVED, _FIRST, "".join(f"//{line}\n" for line in _FIRST.splitlines())),
    edit("a log in place of an error", Kind.REMOVED, 't.Errorf("got %d", got)', 't.Logf("got %d", got)'),
    edit("nothing in place of an error", Kind.REMOVED, 't.Errorf("got %d", got)', "_ = got"),
    edit("a case dropped", Kind.REMOVED, '\t\t{"two", []int{2, 2}, 4},\n', ""),
    edit("a test renamed", Kind.REMOVED, "func TestErrors(", "func testErrors("),
    edit("a name that Go passes over", Kind.REMOVED, "func TestErrors(", "func Testerrors("),
    edit("a test deleted", Kind.REMOVED, BASE[BASE.index("func TestErrors") : BASE.index("func TestTestify")], ""),
    edit("testify's check deleted", Kind.REMOVED, "\tassert.Equal(t, 3, Total(c))\n", ""),
    edit("t.Skip", Kind.SKIPPED, "\tgot := Total(newCart(5, 7))", '\tt.Skip("later")\n\tgot := Total(newCart(5, 7))'),
    edit("t.SkipNow", Kind.SKIPPED, "\tc := newCart(1, 2)", "\tt.SkipNow()\n\tc := newCart(1, 2)"),
    edit("when short", Kind.SKIPPED, "\tc := newCart(1, 2)", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tc := newCart(1, 2)"),
    edit("when short, quietly", Kind.SKIPPED, "\tc := newCart(1, 2)", "\tif testing.Short() {\n\t\treturn\n\t}\n\tc := newCart(1, 2)"),
    edit("return early", Kind.SKIPPED, "\trequire.NoError(", "\treturn\n\trequire.NoError("),
    edit("a build tag", Kind.SKIPPED, "package cart\n", "//go:build integration\n\npackage cart\n"),
    edit("an old build tag", Kind.SKIPPED, "package cart\n", "// +build ignore\n\npackage cart\n"),
    edit("if false", Kind.SKIPPED, "\tassert.Equal(t, 3, Total(c))\n", "\tif false {\n\t\tassert.Equal(t, 3, Total(c))\n\t}\n"),
    edit("for false", Kind.SKIPPED, "\tassert.Equal(t, 3, Total(c))\n", "\tfor false {\n\t\tassert.Equal(t, 3, Total(c))\n\t}\n"),
    edit("the process ended", Kind.SKIPPED, "\tc := newCart(1, 2)", "\tos.Exit(0)\n\tc := newCart(1, 2)"),
    edit("skipped in a subtest", Kind.SKIPPED, "\t\t\tif got := Total", "\t\t\tt.Skip()\n\t\t\tif got := Total"),
    edit("any other value", Kind.LOOSENED, "\tif got != expected {", "\tif got == 0 {"),
    edit("a bound in place of a value", Kind.LOOSENED, "\tif got != expected {", "\tif got < expected {"),
    edit("a condition more", Kind.LOOSENED, "\tif got != expected {", "\tif got != expected && got != 0 {"),
    edit("any error", Kind.LOOSENED, "!errors.Is(err, ErrParse)", "err == nil"),
    edit("NotNil", Kind.LOOSENED, "assert.Equal(t, 3, Total(c))", "assert.NotNil(t, Total(c))"),
    edit("NotEqual", Kind.LOOSENED, "assert.Equal(t, 3, Total(c))", "assert.NotEqual(t, 0, Total(c))"),
    edit("a wider delta", Kind.LOOSENED, "c.Mean(), 0.001", "c.Mean(), 10"),
    edit("any error of testify", Kind.LOOSENED, "assert.ErrorIs(t, c.Fail(), ErrFull)", "assert.Error(t, c.Fail())"),
    edit("always true", Kind.LOOSENED, "assert.True(t, c.Total == 3)", "assert.True(t, true)"),
    edit("or true", Kind.LOOSENED, "assert.True(t, c.Total == 3)", "assert.True(t, c.Total == 3 || true)"),
    edit("in a goroutine that nobody waits for", Kind.LOOSENED, "\tassert.Equal(t, 3, Total(c))\n", "\tgo func() {\n\t\tassert.Equal(t, 3, Total(c))\n\t}()\n"),
    edit("another constant", Kind.RETUNED, "const expected = 12", "const expected = 13"),
    edit("another value", Kind.RETUNED, "assert.Equal(t, 3, Total(c))", "assert.Equal(t, 4, Total(c))"),
    edit("another case", Kind.RETUNED, '{"two", []int{2, 2}, 4}', '{"two", []int{2, 2}, 5}'),
    edit("another value with its name", Kind.RETUNED, "want: 0", "want: 1"),
    edit("another length", Kind.RETUNED, "c.Prices, 2)", "c.Prices, 3)"),
    edit("the result made up", Kind.RETUNED, "got := Total(newCart(5, 7))", "got := expected"),
    edit("another helper", Kind.RETUNED, "c.Add(p)", "c.Add(p + 1)"),
    edit("another error", Kind.RETUNED, "ErrFull", "ErrOther"),
    edit("TestMain", Kind.CONFIGURATION, "const expected", "func TestMain(m *testing.M) {\n\tos.Exit(0 * m.Run())\n}\n\nconst expected"),
    edit("init", Kind.CONFIGURATION, "const expected", "func init() {\n\tTotal = func(*Cart) int { return 12 }\n}\n\nconst expected"),
    edit("exit without failures", Kind.SHADOWED, "const expected", "func TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n\nconst expected"),
)  # fmt: skip
HONEST = (
    edit("a new test", Kind.ADDED, "func TestErrors(", 'func TestMore(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Error("not 0")\n\t}\n}\n\nfunc TestErrors('),
    edit("a case more", None, '\t\t{"two", []int{2, 2}, 4},\n', '\t\t{"two", []int{2, 2}, 4},\n\t\t{"three", []int{3}, 3},\n'),
    edit("a check more", None, "\tassert.Len(t, c.Prices, 2)\n", "\tassert.Len(t, c.Prices, 2)\n\tassert.NotEmpty(t, c.Prices)\n"),
    edit("another message", None, 't.Errorf("got %d", got)', 't.Errorf("got %d, want %d", got, expected)'),
    edit("fatal in place of error", None, 't.Errorf("got %d", got)', 't.Fatalf("got %d", got)'),
    edit("a variable renamed", None, "\tgot := Total(newCart(5, 7))\n" + _FIRST, "\tsum := Total(newCart(5, 7))\n" + _FIRST.replace("got !", "sum !").replace(", got", ", sum")),
    edit("a comment", None, "\tassert.Len(t, c.Prices, 2)\n", "\t// Both.\n\tassert.Len(t, c.Prices, 2) // two\n"),
    edit("other lines", None, "assert.Equal(t, 3, Total(c))", "assert.Equal(\n\t\tt,\n\t\t3,\n\t\tTotal(c),\n\t)"),
    edit("a tighter delta", None, "c.Mean(), 0.001", "c.Mean(), 0.00001"),
    edit("Equal in place of True", None, "assert.True(t, c.Total == 3)", "assert.Equal(t, c.Total, 3)"),
    edit("require in place of assert", None, "assert.Equal(t, 3, Total(c))", "require.Equal(t, 3, Total(c))"),
    edit("an import more", None, '\t"errors"\n', '\t"errors"\n\t"os"\n'),
    edit("parallel", None, "\tc := newCart(1, 2)", "\tt.Parallel()\n\tc := newCart(1, 2)"),
)  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS, ids=lambda each: each.name)
def test_a_trick_is_caught(trick: Edit) -> None:
    assert_caught(PATH, BASE, trick)


@pytest.mark.parametrize("honest", HONEST, ids=lambda each: each.name)
def test_an_honest_edit_is_not_suspect(honest: Edit) -> None:
    assert_quiet(PATH, BASE, honest)


@pytest.mark.parametrize(
    "asks", ["testing.Testing()", 'flag.Lookup("test.v") != nil', 'strings.HasSuffix(os.Args[0], ".test")']
)
def test_code_that_asks_whether_it_is_tested_is_told(asks: str) -> None:
    old = "package cart\n\nfunc Total() int {\n\treturn 1\n}\n"
    new = old.replace("\treturn 1\n", f"\tif {asks} {{\n\t\treturn 12\n\t}}\n\treturn 1\n")
    found = compare("cart/cart.go", old, new)
    assert [each.kind for each in found] == [Kind.SHADOWED], told(found)
