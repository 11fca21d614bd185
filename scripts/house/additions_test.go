package main

import (
	"go/token"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdditions compares the table of CONTRIBUTING.md with the code.
func TestAdditions(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAdditions(string(text))
	if err != nil || len(list) < 9 {
		t.Fatalf("%d rows: %v", len(list), err)
	}
	files, err := sources("../..", token.NewFileSet())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		for _, wrong := range a.check("../..", files) {
			t.Error(wrong)
		}
	}
}

// TestAdditionsWrong tests a row with too many files and one with too few.
func TestAdditionsWrong(t *testing.T) {
	root := write(t, map[string]string{
		"a/a.go": "package a\n\nvar Thing = 1\n", "a/more.go": "package a\n\nvar x = Thing\n", "a/other.go": "package a\n\nvar Things = 2\n",
		"a/a_test.go": "package a\n\nvar y = Thing\n", "bench/b.go": "package main\n\n// Thing\n",
	})
	files, err := sources(root, token.NewFileSet())
	if err != nil {
		t.Fatal(err)
	}
	table := func(row string) string {
		return additionsBegin + "| to add | touch | example |\n|---|---|---|\n" + row + "\n" + additionsEnd
	}
	for row, want := range map[string][]string{
		"| a thing | `a/a.go` by `go`, `a/more.go`, `a/a_test.go` | `Thing` |": nil,
		"| a thing | `a/a.go` | `Thing` |":                                     {"a thing: a/more.go names Thing and is not in the row"},
		"| a thing | `a/a.go`, `a/more.go`, `a/other.go` | `Thing` |":          {"a thing: a/other.go does not name Thing"},
	} {
		list, err := readAdditions(table(row))
		if err != nil || len(list) != 1 {
			t.Fatalf("%q: %v, %v", row, list, err)
		}
		if d := cmp.Diff(want, list[0].check(root, files)); d != "" {
			t.Errorf("%s (-want +got):\n%s", row, d)
		}
	}
	for _, bad := range []string{"no table", table("| a thing | by hand | `Thing` |"), table("| a thing | `a/a.go` | |")} {
		if _, err := readAdditions(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
