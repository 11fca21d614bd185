package opsmatrix_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

var update = flag.Bool("update", false, "write docs/ops.md")

const page = top + "docs/ops.md"

// TestMatrix: docs/ops.md agrees with the registries.
func TestMatrix(t *testing.T) {
	columns := backends()
	others, computed := known(columns)
	text := render(append(columns, readRecorded(t).columns()...), others, computed)
	t.Logf("\n%s", text)
	if *update {
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, text) {
		t.Error("docs/ops.md is older than the registries: go test ./internal/testkit/opsmatrix -update writes it")
	}
}

// TestMatrixHolds: the properties of every op.
func TestMatrixHolds(t *testing.T) {
	has := map[string]func(op string) bool{}
	for _, c := range append(backends(), readRecorded(t).columns()...) {
		has[c.name] = c.has
	}
	for _, d := range ops.Defs() {
		op := d.Name
		if has["CUDA"](op) && !has["engine"](op) && d != ops.ElementwiseRegion {
			t.Errorf("%s has kernels on GPUs, but not on the processor", op)
		}
		if e := d.Element; e.Float != nil && e.CUDA != "" {
			for _, c := range []string{"engine", "eager", "shapes", "CUDA", "TensorFlow", "float64"} {
				if !has[c](op) {
					t.Errorf("%s is defined for hosts and accelerators, but is not in column %s", op, c)
				}
			}
		}
	}
}

// render writes the page.
func render(columns []column, others, computed []*ops.Def) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Ops\n\nWritten by `go test ./internal/testkit/opsmatrix -update` from the definitions in `internal/compiler/ops` and the registries of the\n"+
		"backends; the test fails where it is stale. %d ops are computed, %d more are known to GraphDef alone.\n\n", len(computed), len(others))
	head, rule, sums := "| op |", "|---|", "| **all** |"
	for _, c := range columns {
		fmt.Fprintf(&b, "- **%s**: %s.\n", c.name, c.means)
		head, rule = head+" "+c.name+" |", rule+"---|"
		count := 0
		for _, d := range computed {
			if c.has(d.Name) {
				count++
			}
		}
		sums += fmt.Sprintf(" %d |", count)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", head, rule)
	for _, d := range computed {
		fmt.Fprintf(&b, "| %s |", d.Name)
		for _, c := range columns {
			mark := " "
			if c.has(d.Name) {
				mark = " ✓ "
			}
			fmt.Fprintf(&b, "%s|", mark)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "%s\n\n## Known to GraphDef alone\n\nA model with one of these can be read. Control flow of TensorFlow 1, calls of functions and reference variables are rewritten when a\nmodel is loaded; others are refused by name where they would have to be computed.\n\n", sums)
	var names []string
	for _, d := range others {
		names = append(names, d.Name)
	}
	fmt.Fprintln(&b, wrap(strings.Join(names, ", "), 120))
	return b.Bytes()
}

// wrap breaks text at spaces.
func wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(w) > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}
