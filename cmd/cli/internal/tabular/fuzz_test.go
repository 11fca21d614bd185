package tabular_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// FuzzRead: files with any bytes give a profile or an error, never a panic, and all methods of the profile work.
func FuzzRead(f *testing.F) {
	for name, content := range formats(f) {
		f.Add([]byte(content), filepath.Ext(name) == ".csv", "kind")
		f.Add([]byte(content[:len(content)/2]), false, "width")
	}
	for _, s := range []string{"", "\n", "a", "a,b\n", "\xef\xbb\xbf", "{}", "{\"a\":[]}\n", "PAR1", "ARROW1", "a;b\n1,5;\"x\n", "1e308,-1e308\n-1e308,1e308\n", "{\"\":1}{\"\":\"2\"}"} {
		f.Add([]byte(s), true, "a")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, regression bool, label string) {
		path := filepath.Join(dir, fmt.Sprint("t", os.Getpid()))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		o := tabular.Options{Label: label}
		if regression {
			o.Task = tabular.Regression
		}
		p, err := tabular.Read(t.Context(), path, o)
		if p == nil {
			if err == nil {
				t.Fatal("neither a profile nor an error")
			}
			return
		}
		uses, reasons := p.Uses()
		p.Hints()
		for i, c := range p.Columns {
			if c.Rows != p.Rows || c.Missing < 0 || c.Missing > c.Rows || c.Distinct < 0 || c.Kind == tabular.Unknown {
				t.Fatalf("column %d of %d rows: %+v", i, p.Rows, c)
			}
			if (uses[i] == tabular.LeftOut) != (reasons[i] != "") {
				t.Fatalf("column %d has use %d for %q", i, uses[i], reasons[i])
			}
		}
	})
}

// TestCells: cells written as CSV are counted as they were written, whatever they contain.
func TestCells(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "delimiter")
		form := tabular.Form{Format: "csv", Delimiter: delimiter, Header: true, Decimal: "."}
		cells := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9,;|" \n?.-]{0,6}`), 1, 30).Draw(t, "cells")
		text, missing, distinct := "a"+delimiter+"b\n", int64(0), map[string]bool{}
		for _, c := range cells {
			text += "1" + delimiter + `"` + strings.ReplaceAll(c, `"`, `""`) + "\"\n"
			switch c = strings.TrimSpace(c); c {
			case "", "?", "-", ".", "nan", "null", "n/a":
				missing++
			default:
				distinct[c] = true
			}
		}
		path := filepath.Join(dir, "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := tabular.Read(t.Context(), path, tabular.Options{Form: &form})
		if err != nil {
			t.Fatal(err)
		}
		c := p.Columns[1]
		if p.Rows != int64(len(cells)) || c.Missing != missing && c.Kind != tabular.Number || len(c.Marks) == 0 && c.Distinct != len(distinct) {
			t.Fatalf("got %d rows, %+v; expected %d rows, %d missing, %d different", p.Rows, c, len(cells), missing, len(distinct))
		}
	})
}

// TestMemory: a profile of a 60 MB file with long, different texts keeps only a small part of it in memory.
func TestMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	file := create(t, path)
	tail := strings.Repeat("x", 10_000)
	_, _ = file.WriteString("text,y\n")
	for r := range 6000 {
		if _, err := fmt.Fprintf(file, "%d%s,%d\n", r, tail, r%2); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	p, err := tabular.Read(t.Context(), path, tabular.Options{Label: "y"})
	check(t, err)
	if kept := int64(heap()) - int64(before); kept > 10<<20 {
		t.Errorf("the profile keeps %d bytes, expected at most 10 MiB", kept)
	}
	if p.Columns[0].Distinct != 6000 {
		t.Errorf("%d different texts, expected 6000", p.Columns[0].Distinct)
	}
}
