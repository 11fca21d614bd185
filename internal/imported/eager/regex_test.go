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
		t.Skip("it counts bytes, and the race detector makes many more: not with -short")
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

// TestRegexOfBytes: as in RE2 nothing matches a byte that is none of a character, and what stands beside it is matched.
func TestRegexOfBytes(t *testing.T) {
	for _, c := range []struct{ pattern, in, want string }{
		{"[^0-9]", "\xff1a", "\xff1_"}, {".", "a\xffb", "_\xff_"}, {"(?s).", "\n\xff", "_\xff"}, {"^.*$", "\xff", "\xff"}, {"a", "\xffa", "\xff_"}, {"[^a]+", "xy\xffz", "_\xff_"},
		{"\ufffd", "\xff", "\xff"}, {"[\ufffd]", "\xff", "\xff"}, {"\ufffd", "a\ufffd", "a_"}, {".", "\ufffd", "_"}, {"(?i)K", "k\xff\u212a", "_\xff_"},
	} {
		r, err := newRewrite(c.pattern, "_", true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.apply(t.Context(), []byte(c.in), &textRoom{left: 1 << 20})
		if err != nil || string(got) != c.want {
			t.Errorf("%q in %q: got %q, %v, expected %q", c.pattern, c.in, got, err, c.want)
		}
	}
	in, err := tensor.FromStrings([][]byte{[]byte("\xff12"), []byte("x12"), []byte("\ufffd12")}, 3)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), &graph.Node{Name: "m", Op: "StaticRegexFullMatch", Attrs: graph.Attrs{"pattern": []byte(".12")}}, []Value{{T: in}}, &Env{})
	if err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[bool](out[0].T); got[0] || !got[1] || !got[2] {
		t.Errorf("full matches %v, expected [false true true]", got)
	}
}
