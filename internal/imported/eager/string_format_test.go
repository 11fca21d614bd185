package eager

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestStringFormat: the texts of TensorFlow 2.15.
func TestStringFormat(t *testing.T) {
	count := tensorOf([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}, 2, 3, 4)
	floats := tensorOf([]float32{0.1, 1e-7, 1e10, 123456789, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 3, 1. / 3, 16777216, 1e38, 1.17549435e-38}, 12)
	doubles := tensorOf([]float64{0.1, 1e10, 1. / 3, 1e15, 1e300, 0.30000000000000004}, 6)
	for _, c := range []struct {
		template string
		most     int64
		in       []any
		want     string
	}{
		{"a{}b", 3, []any{tensorOf([]int32{1, 2, 3, 4, 5, 6, 7, 8}, 8)}, "a[1 2 3 ... 6 7 8]b"},
		{"a{}b", 3, []any{tensorOf([]int32{1, 2, 3, 4, 5, 6}, 6)}, "a[1 2 3 4 5 6]b"},
		{"{} {}", 1, []any{count, tensor.Scalar(int32(7))}, "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]] 7"},
		{"{}", -1, []any{count}, "[[[0 1 2 3]\n  [4 5 6 7]\n  [8 9 10 11]]\n\n [[12 13 14 15]\n  [16 17 18 19]\n  [20 21 22 23]]]"},
		{"{}", -5, []any{texts("a", "b\"\n\x00\xff\\\t'é\x7f")}, "[\"a\" \"b\\\"\\n\\000\xff\\\\\\t\\'é\\177\"]"},
		{"{}", 20, []any{floats}, "[0.1 1e-07 1e+10 123456792 inf -inf nan 3 0.333333343 16777216 1e+38 1.17549435e-38]"},
		{"{}", 20, []any{doubles}, "[0.1 10000000000 0.33333333333333331 1e+15 1e+300 0.30000000000000004]"},
		{"{}", 3, []any{tensorOf([]bool{true, false}, 2)}, "[1 0]"},
		{"{}", 3, []any{tensor.New(tensor.Float32, 2, 0)}, "[\n ...]"},
		{"{}", 3, []any{tensor.New(tensor.Float32, 0, 2)}, "[]"},
		{"{}", 0, []any{tensor.Scalar(int32(3))}, "..."},
		{"{}", 0, []any{tensorOf([]int32{1, 2}, 2)}, "[ ...]"},
		{"none", 3, nil, "none"},
	} {
		v := newSession(t).run("StringFormat", graph.Attrs{"template": []byte(c.template), "placeholder": []byte("{}"), "summarize": c.most}, c.in...)
		if got := string(v.T.Strings[0]); got != c.want {
			t.Errorf("%q of %v: got\n%q, expected\n%q", c.template, c.in, got, c.want)
		}
	}
	newSession(t).refuse("num placeholders", "StringFormat", graph.Attrs{"template": []byte("%s %s")}, tensor.Scalar(int32(1)))
}
