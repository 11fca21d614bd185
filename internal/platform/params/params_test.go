package params

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	r := Read("thing", map[string]any{"f": 1, "g": float32(0.5), "h": " 0.25", "i": 3.0, "u": uint64(4), "t": "5", "b": true, "c": "false",
		"s": "x", "fs": []any{1, 2.5, "3"}, "is": []any{int32(1), int64(2)}, "raw": []float64{7}, "one": 8, "text": "[1, 2]", "none": "", "any": 'c', "nil": nil})
	got := []any{r.Float("f", 0), r.Float("g", 0), r.FloatIn("h", 0, 0, 1), r.Int("i", 0, 0), r.Int("u", 0, 4), r.Int("t", 0, -1),
		r.Bool("b", false), r.Bool("c", true), r.String("s", ""), r.Floats("fs"), r.Ints("is", 1), r.Floats("raw"), r.Ints("one", 1),
		r.Ints("text", 1), r.Ints("none", 1, 3), r.Any("any"), r.Float("nil", 6), r.Rate("g", 0),
		r.Float("absent", 9), r.Int("absent", 8, 1), r.Bool("absent", true), r.String("absent", "d"), r.Ints("absent", 1, 2, 3), r.Has("absent"), r.Has("nil")}
	want := []any{1.0, 0.5, 0.25, 3, 4, 5, true, false, "x", []float64{1, 2.5, 3}, []int{1, 2}, []float64{7}, []int{8},
		[]int{1, 2}, []int{}, 'c', 6.0, 0.5, 9.0, 8, true, "d", []int{2, 3}, false, false}
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
		{true, func(r *Reader) { r.Float("x", 0) }, "thing: x: expected a number, got true (bool)"},
		{2, func(r *Reader) { r.FloatIn("x", 0, -1, 1) }, "thing: x: expected a number in -1..1, got 2 (int)"},
		{math.NaN(), func(r *Reader) { r.FloatIn("x", 0, -1, 1) }, "thing: x: expected a number in -1..1, got NaN (float64)"},
		{1, func(r *Reader) { r.Rate("x", 0) }, "thing: x: expected a number >= 0 and < 1, got 1 (int)"},
		{1.5, func(r *Reader) { r.Int("x", 0, 0) }, "thing: x: expected an integer >= 0, got 1.5 (float64)"},
		{-1, func(r *Reader) { r.Int("x", 0, 0) }, "thing: x: expected an integer >= 0, got -1 (int)"},
		{uint64(math.MaxUint64), func(r *Reader) { r.Int("x", 0, 0) }, "thing: x: expected an integer >= 0, got 18446744073709551615 (uint64)"},
		{math.NaN(), func(r *Reader) { r.Int("x", 0, 0) }, "thing: x: expected an integer >= 0, got NaN (float64)"},
		{1, func(r *Reader) { r.Bool("x", false) }, "thing: x: expected true or false, got 1 (int)"},
		{"maybe", func(r *Reader) { r.Bool("x", false) }, "thing: x: expected true or false, got maybe (string)"},
		{1, func(r *Reader) { r.String("x", "") }, "thing: x: expected a string, got 1 (int)"},
		{true, func(r *Reader) { r.Floats("x") }, "thing: x: expected a list of numbers, got true (bool)"},
		{[]any{1, "a"}, func(r *Reader) { r.Ints("x", 1) }, "thing: x: expected a list of integers >= 1, got [1 a] ([]interface {})"},
		{[]int{1, 0}, func(r *Reader) { r.Ints("x", 1) }, "thing: x: expected a list of integers >= 1, got [1 0] ([]int)"},
		{"[1, 2", func(r *Reader) { r.Ints("x", 1) }, "thing: x: expected a list of integers >= 1, got [1, 2 (string)"},
		{1, func(r *Reader) {}, "thing: unknown parameter x: it takes none"},
		{1, func(r *Reader) { r.Int("z", 0, 0); r.Int("y", 0, 0) }, "thing: unknown parameter x: known are y, z"},
		{1, func(r *Reader) { r.Int("xy", 0, 0) }, "thing: unknown parameter x: known are xy; did you mean xy?"},
	} {
		r := Read("thing", map[string]any{"x": c.value})
		c.read(r)
		if err := r.Done(); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestTwoNames: a parameter has either of its names, not both.
func TestTwoNames(t *testing.T) {
	for _, c := range []struct {
		m    map[string]any
		want float64
		err  string
	}{
		{nil, 5, ""},
		{map[string]any{"short": 1.0}, 1, ""},
		{map[string]any{"long": 0.0}, 0, ""},
		{map[string]any{"short": 1.0, "long": 1.0}, 1, "thing: long: expected one of short and long, two names of one parameter"},
		{map[string]any{"long": "x"}, 5, "thing: short: expected a number, got x (string)"},
		{map[string]any{"lang": 1.0}, 5, "thing: unknown parameter lang: known are long, short; did you mean long?"},
	} {
		before := maps.Clone(c.m)
		r := Read("thing", c.m)
		r.Also("short", "long")
		if got := r.Float("short", 5); got != c.want {
			t.Errorf("%v: got %v, expected %v", c.m, got, c.want)
		}
		if err := r.Done(); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v: got error %v, expected %q", c.m, err, c.err)
		}
		if !maps.Equal(before, c.m) {
			t.Errorf("the caller's map became %v", c.m)
		}
	}
}

// TestErrorsAreCollected: all errors are reported, except those that another may have caused.
func TestErrorsAreCollected(t *testing.T) {
	mine := errors.New("too small")
	r := Read("thing", map[string]any{"a": "x", "b": 1, "c": 2})
	r.Refuse("b", mine)
	r.Float("a", 0)
	r.Refuse("a", mine)
	r.Float("b", 0)
	r.Fail(mine)
	const want = "thing: b: too small\nthing: a: expected a number, got x (string)\nthing: unknown parameter c: known are a, b"
	if err := r.Done(); err == nil || err.Error() != want || !errors.Is(err, mine) {
		t.Errorf("got %v, want %s", err, want)
	}
	r = Read("thing", nil)
	r.Fail(mine)
	if err := r.Done(); err == nil || err.Error() != "thing: too small" {
		t.Errorf("got %v", err)
	}
}
