package params

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Reader takes values out of a map of parameters. Its first error sticks; Done
// reports it, or the names that nobody asked for.
type Reader struct {
	what  string
	m     map[string]any
	known []string
	err   error
}

// Read returns a Reader of m; what names the owner in errors.
func Read(what string, m map[string]any) *Reader { return &Reader{what: what, m: m} }

// Fail records err as the Reader's if it is the first.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.what, err)
	}
}

// Has reports whether the parameter is given.
func (r *Reader) Has(name string) bool { return r.m[name] != nil }

// Any returns a parameter as it is, nil where absent.
func (r *Reader) Any(name string) any {
	r.known = append(r.known, name)
	return r.m[name]
}

// get converts a parameter; ok is false where it is absent or wrong.
func get[T any](r *Reader, name, expected string, convert func(any) (T, bool)) (v T, ok bool) {
	raw := r.Any(name)
	if raw == nil {
		return v, false
	}
	if v, ok = convert(raw); !ok {
		r.Fail(fmt.Errorf("%s: expected %s, got %v (%T)", name, expected, raw, raw))
	}
	return v, ok
}

// Float returns a number, or def where it is absent.
func (r *Reader) Float(name string, def float64) float64 {
	if v, ok := get(r, name, "a number", float); ok {
		return v
	}
	return def
}

// Int returns an integer, or def where it is absent.
func (r *Reader) Int(name string, def int64) int64 {
	if v, ok := get(r, name, "an integer", integer); ok {
		return v
	}
	return def
}

// Bool returns a truth value, false where it is absent.
func (r *Reader) Bool(name string) bool {
	v, _ := get(r, name, "true or false", func(x any) (bool, bool) { b, ok := x.(bool); return b, ok })
	return v
}

// String returns a string, or def where it is absent.
func (r *Reader) String(name, def string) string {
	if v, ok := get(r, name, "a string", func(x any) (string, bool) { s, ok := x.(string); return s, ok }); ok {
		return v
	}
	return def
}

// Floats returns a list of numbers, nil where it is absent.
func (r *Reader) Floats(name string) []float64 {
	v, _ := get(r, name, "a list of numbers", func(x any) ([]float64, bool) {
		if f, ok := x.([]float64); ok {
			return f, true
		}
		return list(x, float)
	})
	return v
}

// Ints returns a list of integers, nil where it is absent.
func (r *Reader) Ints(name string) []int64 {
	v, _ := get(r, name, "a list of integers", func(x any) ([]int64, bool) {
		if n, ok := x.([]int64); ok {
			return n, true
		}
		return list(x, integer)
	})
	return v
}

// Done returns the first error, or one for parameters that nobody asked for.
func (r *Reader) Done() error {
	if r.err != nil {
		return r.err
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(r.m)) {
		if !slices.Contains(r.known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	known := "it takes none"
	if len(r.known) > 0 {
		known = "known are " + strings.Join(slices.Sorted(slices.Values(r.known)), ", ")
	}
	return fmt.Errorf("%s: unknown parameter %s: %s", r.what, strings.Join(unknown, ", "), known)
}

func float(x any) (float64, bool) {
	switch v := x.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}
	n, ok := integer(x)
	return float64(n), ok
}

func integer(x any) (int64, bool) {
	switch v := x.(type) {
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float64: // JSON has no integers
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

func list[T any](x any, convert func(any) (T, bool)) ([]T, bool) {
	raw, ok := x.([]any)
	if !ok {
		return nil, false
	}
	out := make([]T, len(raw))
	for i, e := range raw {
		if out[i], ok = convert(e); !ok {
			return nil, false
		}
	}
	return out, true
}
