package eager

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestPartsOfLongStrings: what a string falls into is bounded before it is made.
func TestPartsOfLongStrings(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts bytes, of which the race detector makes many more: not with -short")
	}
	line, err := tensor.FromStrings([][]byte{bytes.Repeat([]byte("a "), 1<<20)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	scalar := func(s string) Value {
		x, err := tensor.FromStrings([][]byte{[]byte(s)})
		if err != nil {
			t.Fatal(err)
		}
		return Value{T: x}
	}
	for _, n := range []*graph.Node{
		{Name: "words", Op: "StringSplitV2"},
		{Name: "bytes", Op: "StringSplit"},
		{Name: "regex", Op: "StaticRegexReplace", Attrs: graph.Attrs{"pattern": []byte(" "), "rewrite": []byte("")}},
	} {
		in := []Value{{T: line}, scalar("")}
		if n.Op == "StaticRegexReplace" {
			in = in[:1]
		}
		if _, err := Run(t.Context(), n, in, &Env{}); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Run(t.Context(), n, in, &Env{Limit: 1 << 22})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrLimit) || took > 16<<20 {
			t.Errorf("%s: %d MiB, %v", n.Name, took>>20, err)
		}
	}
}
