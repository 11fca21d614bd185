package eager

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestPartsOfLongStrings: the number of a string's parts is bounded before they are made.
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

// TestRegexOfBytes: as in RE2, nothing matches a byte outside of a character, and the characters beside it match.
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

// TestHostileExpressions: short patterns, rewrites or texts that stand for very much are refused before it is made.
func TestHostileExpressions(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts bytes, and the race detector makes many more: not with -short")
	}
	one := func(s string, shape ...int) Value {
		x, err := tensor.FromStrings([][]byte{[]byte(s)}, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return Value{T: x}
	}
	long := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct{ op, pattern, value, rewrite string }{
		"a long rewrite for each byte":      {"RegexReplace", "a", long, strings.Repeat("x", 1<<10)},
		"a group of all":                    {"RegexReplace", "(.*)", long, strings.Repeat(`\1`, 1<<10)},
		"many groups for each byte":         {"RegexReplace", strings.Repeat("()", 10000) + "a", strings.Repeat("a", 4000), "x"},
		"groups of many threads":            {"RegexReplace", strings.Repeat("()", 5000) + strings.Repeat("a?", 5000), "aaaa", "x"},
		"a repeated class":                  {"RegexReplace", `(?:\pL\pM){1000}`, "a", "x"},
		"repeats of repeats":                {"RegexReplace", strings.Repeat("(?:(?:(?:ab){10}){10}){10}", 100), "a", "x"},
		"repeats that match all":            {"RegexFullMatch", strings.Repeat("(?:(?:(?:ab){10}){10}){10}", 100), "a", ""},
		"repeats that divide":               {"RegexSplitWithOffsets", strings.Repeat("((?:(?:ab){10}){10}){10}", 100), "a", "x"},
		"a long static rewrite for each":    {"StaticRegexReplace", "a", long, strings.Repeat("x", 1<<10)},
		"few static matches of many groups": {"StaticRegexReplace", strings.Repeat("()", 10000) + "a", "aaaa", "x"},
	} {
		n, in := &graph.Node{Name: name, Op: c.op}, []Value{one(c.value, 1), one(c.pattern), one(c.rewrite)}
		switch c.op {
		case "StaticRegexReplace":
			n.Attrs = graph.Attrs{"pattern": []byte(c.pattern), "rewrite": []byte(c.rewrite)}
			in = in[:1]
		case "RegexFullMatch":
			in = in[:2]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Run(t.Context(), n, in, &Env{Limit: 1 << 24})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrLimit) || took > 64<<20 {
			t.Errorf("%s: %d MiB, %v", name, took>>20, err)
		}
	}
}
