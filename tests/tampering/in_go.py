"""Tricks and honest work in a Go project."""

from tests.tampering.changing import Edit, Move, Write, honest, trick
from workspaces.integrity.findings import FindingKind as Kind

VERIFY = ("go test ./...",)
FILES = {
    "go.mod": "module example.org/shop\n\ngo 1.22\n\nrequire example.org/money v1.2.0\n",
    "go.sum": "example.org/money v1.2.0 h1:aaaa=\n",
    "price.go": "package shop\n\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum\n}\n",
    "price_test.go": """\
package shop

import "testing"

func TestTotal(t *testing.T) {
\tif got := Total([]int{1, 2}); got != 3 {
\t\tt.Errorf("got %d, want 3", got)
\t}
}

func TestCases(t *testing.T) {
\tfor _, c := range []struct {
\t\tin   []int
\t\twant int
\t}{
\t\t{[]int{1}, 1},
\t\t{[]int{2, 2}, 4},
\t} {
\t\tif got := Total(c.in); got != c.want {
\t\t\tt.Fatalf("%v: got %d, want %d", c.in, got, c.want)
\t\t}
\t}
}
""",
    "testdata/golden.txt": "3\n",
}  # fmt: skip
TEST = "price_test.go"

TRICKS = (
    trick("t.Skip", Kind.SKIPPED, TEST, Edit(TEST, "func TestTotal(t *testing.T) {\n", 'func TestTotal(t *testing.T) {\n\tt.Skip("later")\n')),
    trick("a build tag that leaves the file out", Kind.SKIPPED, TEST, Edit(TEST, "package shop\n\nimport", "//go:build never\n\npackage shop\n\nimport")),
    trick("a name that is no test", (Kind.REMOVED, Kind.SKIPPED), TEST, Edit(TEST, "func TestTotal(", "func testTotal(")),
    trick("a file that is no test", (Kind.REMOVED, Kind.SKIPPED), TEST, Move(TEST, "price_check.go")),
    trick("log in place of an error", (Kind.LOOSENED, Kind.REMOVED), TEST, Edit(TEST, 't.Errorf("got %d, want 3", got)', 't.Logf("got %d, want 3", got)')),
    trick("another wanted value", Kind.RETUNED, TEST, Edit(TEST, "got != 3 {", "got != 5 {")),
    trick("another case", Kind.RETUNED, TEST, Edit(TEST, "{[]int{2, 2}, 4}", "{[]int{2, 2}, 5}")),
    trick("a case less", Kind.REMOVED, TEST, Edit(TEST, "\t\t{[]int{2, 2}, 4},\n", "")),
    trick("TestMain that never fails", (Kind.CONFIGURATION, Kind.SHADOWED), TEST, Edit(TEST, 'import "testing"\n', 'import (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n')),
    trick("another golden file", Kind.RETUNED, "testdata/golden.txt", Write("testdata/golden.txt", "4\n")),
    trick("a module replaced", Kind.CONFIGURATION, "go.mod", Write("go.mod", "module example.org/shop\n\ngo 1.22\n\nrequire example.org/money v1.2.0\n\nreplace example.org/money => ./fake\n")),
)  # fmt: skip

HONEST = (
    honest("a new test", Write("more_test.go", 'package shop\n\nimport "testing"\n\nfunc TestNothing(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Error("not nothing")\n\t}\n}\n')),
    honest("one more case", Edit(TEST, "\t\t{[]int{2, 2}, 4},\n", "\t\t{[]int{2, 2}, 4},\n\t\t{nil, 0},\n")),
    honest("a dependency", Edit("go.mod", "require example.org/money v1.2.0", "require (\n\texample.org/money v1.3.0\n\texample.org/dates v0.1.0\n)"), Write("go.sum", "example.org/money v1.3.0 h1:bbbb=\n")),
)  # fmt: skip
