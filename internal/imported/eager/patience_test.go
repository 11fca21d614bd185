package eager

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestPatience: ops that take long for one element or one text check whether the request has ended.
func TestPatience(t *testing.T) {
	s := newSession(t)
	long := strings.Repeat("ab", 1<<13)
	words := s.table("HashTableV2", tensor.String, tensor.Int64)
	s.run("InitializeTableV2", nil, words, []string{"c"}, []int64{1})
	texts := func(kv ...string) graph.Attrs {
		a := graph.Attrs{}
		for i := 0; i < len(kv); i += 2 {
			a[kv[i]] = []byte(kv[i+1])
		}
		return a
	}
	pieces := texts("suffix_indicator", "##", "unknown_token", "?")
	pieces["max_bytes_per_word"], pieces["use_unknown_token"] = int64(1<<30), true
	ones := tensor.New(tensor.Int64, 1, 1<<14)
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []any
	}{
		{"StaticRegexReplace", texts("pattern", "a(.*c)?", "rewrite", "x"), []any{long}},
		{"StaticRegexFullMatch", texts("pattern", "(ab)*c"), []any{strings.Repeat(long, 8)}},
		{"RegexSplitWithOffsets", nil, []any{long, "(a)(.*c)?", ""}},
		{"WordpieceTokenizeWithOffsets", pieces, []any{long, words}},
		{"_RoiAlign", graph.Attrs{"samples": int64(4096)}, []any{tensorOf([]float32{1}, 1, 1, 1, 1), tensorOf([]float32{0, 0, 1, 1}, 1, 4), tensorOf([]int64{0}, 1)}},
		{"_NgramCounts", graph.Attrs{"least": int64(2), "most": int64(1 << 14), "skips": int64(1 << 20)}, []any{ones, tensor.New(tensor.Int64, 2), tensorOf([]int64{0, 0}, 2), tensorOf([]int64{0}, 1)}},
		{"TFText>NgramsStringJoin", graph.Attrs{"width": int64(2), "axis": int64(-1), "RAGGED_RANK": int64(0), "string_separator": []byte("")}, []any{strings.Split(strings.Repeat("a,", 100), ",")}},
	} {
		n := &graph.Node{Name: "node", Op: c.op, Attrs: c.attrs}
		if _, err := Run(&endsSoon{t.Context(), 10}, n, s.values(c.in...), s.env); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, expected the end of the request", c.op, err)
		}
	}
}

// TestHostileNgrams: a width that overflows in any sum with an index, and separators that would take all memory.
func TestHostileNgrams(t *testing.T) {
	s := newSession(t)
	attrs := func(width int64, sep string) graph.Attrs {
		return graph.Attrs{"width": width, "axis": int64(-1), "RAGGED_RANK": int64(1), "string_separator": []byte(sep), "Tsplits": tensor.Int64}
	}
	s.all("TFText>NgramsStringJoin", attrs(math.MaxInt64, "-"), []any{[]string{"a", "b", "c"}, tensorOf([]int64{0, 2, 3}, 3)}, "string[0]", "int64[3] 0 0 0")
	s.env.Limit = 1 << 20
	s.refuse("too large", "TFText>NgramsStringJoin", attrs(1000, strings.Repeat("-", 1<<20)), make([]string, 1000), tensorOf([]int64{0, 1000}, 2))
}

// TestEndOfWideImages: the last pixel's index has no float32.
func TestEndOfWideImages(t *testing.T) {
	const n = 1<<24 + 4
	g := gridSampler[float32]{padding: "border", sizes: []int{n}}
	if at, ok := g.index(n, 0); !ok || at != n-1 {
		t.Errorf("got pixel %d, %v, expected %d", at, ok, n-1)
	}
}
