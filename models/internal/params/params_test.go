package params

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	r := Read("thing", map[string]any{"f": 1, "g": float32(0.5), "i": 3.0, "u": uint64(4), "b": true, "s": "x",
		"fs": []any{1, 2.5}, "is": []any{int32(1), int64(2)}, "raw": []float64{7}, "raws": []int64{8}, "any": 'c'})
	got := []any{r.Float("f", 0), r.Float("g", 0), r.Int("i", 0), r.Int("u", 0), r.Bool("b"), r.String("s", ""),
		r.Floats("fs"), r.Ints("is"), r.Floats("raw"), r.Ints("raws"), r.Any("any"),
		r.Float("absent", 9), r.Int("absent", 8), r.Bool("absent"), r.String("absent", "d"), r.Has("absent")}
	want := []any{1.0, 0.5, int64(3), int64(4), true, "x", []float64{1, 2.5}, []int64{1, 2}, []float64{7}, []int64{8}, 'c', 9.0, int64(8), false, "d", false}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}
}

func TestWrongValues(t *testing.T) {
	for _, c := range []struct {
		value any
		read  func(r *Reader)
		want  string
	}{
		{"one", func(r *Reader) { r.Float("x", 0) }, "thing: x: expected a number, got one (string)"},
		{1.5, func(r *Reader) { r.Int("x", 0) }, "thing: x: expected an integer, got 1.5 (float64)"},
		{uint64(math.MaxUint64), func(r *Reader) { r.Int("x", 0) }, "thing: x: expected an integer, got 18446744073709551615 (uint64)"},
		{math.NaN(), func(r *Reader) { r.Int("x", 0) }, "thing: x: expected an integer, got NaN (float64)"},
		{1, func(r *Reader) { r.Bool("x") }, "thing: x: expected true or false, got 1 (int)"},
		{1, func(r *Reader) { r.String("x", "") }, "thing: x: expected a string, got 1 (int)"},
		{1, func(r *Reader) { r.Floats("x") }, "thing: x: expected a list of numbers, got 1 (int)"},
		{[]any{1, "a"}, func(r *Reader) { r.Ints("x") }, "thing: x: expected a list of integers, got [1 a] ([]interface {})"},
		{1, func(r *Reader) {}, "thing: unknown parameter x: it takes none"},
		{1, func(r *Reader) { r.Int("z", 0); r.Int("y", 0) }, "thing: unknown parameter x: known are y, z"},
	} {
		r := Read("thing", map[string]any{"x": c.value})
		c.read(r)
		if err := r.Done(); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
