package params

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reader takes values out of a map of parameters. A getter's name becomes a
// known one; what is absent or nil has the default. Done reports all that is
// wrong, and the names that nobody asked for.
type Reader struct {
	what  string
	m     map[string]any
	known []string
	wrong map[string]bool // parameters that have an error
	errs  []error
}

// Read returns a Reader of m; what names the owner in errors.
func Read(what string, m map[string]any) *Reader {
	return &Reader{what: what, m: m, wrong: map[string]bool{}}
}

// Fail records what is wrong with the parameters together, unless one of them
// is wrong itself, which may be the cause.
func (r *Reader) Fail(err error) {
	if len(r.errs) == 0 {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.what, err))
	}
}

// Refuse records what is wrong with one parameter; its first error counts.
func (r *Reader) Refuse(name string, err error) {
	if !r.wrong[name] {
		r.wrong[name] = true
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %w", r.what, name, err))
	}
}

// Has reports whether the parameter is given.
func (r *Reader) Has(name string) bool { return r.m[name] != nil }

// Also lets a parameter that is asked for later have another name, too.
func (r *Reader) Also(name, other string) {
	r.known = append(r.known, other)
	switch {
	case r.m[other] == nil:
	case r.m[name] != nil:
		r.Refuse(other, fmt.Errorf("expected one of %s and %s, two names of one parameter", name, other))
	default:
		r.m = maps.Clone(r.m)
		r.m[name] = r.m[other]
	}
}

// Any returns a parameter as it is, nil where absent.
func (r *Reader) Any(name string) any {
	r.known = append(r.known, name)
	return r.m[name]
}

// Known returns the names that were asked for, sorted.
func (r *Reader) Known() []string { return slices.Compact(slices.Sorted(slices.Values(r.known))) }

// get converts a parameter; def is for one that is absent or wrong.
func get[T any](r *Reader, name, expected string, def T, convert func(any) (T, bool)) T {
	raw := r.Any(name)
	if raw == nil {
		return def
	}
	v, ok := convert(raw)
	if !ok {
		r.Refuse(name, fmt.Errorf("expected %s, got %v (%T)", expected, raw, raw))
		return def
	}
	return v
}

// Float returns a number.
func (r *Reader) Float(name string, def float64) float64 {
	return get(r, name, "a number", def, float)
}

// FloatIn returns a number in min..max.
func (r *Reader) FloatIn(name string, def, min, max float64) float64 {
	return get(r, name, fmt.Sprintf("a number in %g..%g", min, max), def, func(x any) (float64, bool) {
		v, ok := float(x)
		return v, ok && v >= min && v <= max
	})
}

// Rate returns a number in 0..1, 1 excluded.
func (r *Reader) Rate(name string, def float64) float64 {
	return get(r, name, "a number >= 0 and < 1", def, func(x any) (float64, bool) {
		v, ok := float(x)
		return v, ok && v >= 0 && v < 1
	})
}

// Int returns an integer of at least min.
func (r *Reader) Int(name string, def, min int) int {
	return get(r, name, fmt.Sprintf("an integer >= %d", min), def, atLeast(min))
}

// Bool returns a truth value.
func (r *Reader) Bool(name string, def bool) bool {
	return get(r, name, "true or false", def, truth)
}

// String returns a string.
func (r *Reader) String(name, def string) string {
	return get(r, name, "a string", def, func(x any) (string, bool) { s, ok := x.(string); return s, ok })
}

// Floats returns a list of numbers.
func (r *Reader) Floats(name string, def ...float64) []float64 {
	return get(r, name, "a list of numbers", def, func(x any) ([]float64, bool) { return list(x, float) })
}

// Ints returns a list of integers of at least min.
func (r *Reader) Ints(name string, min int, def ...int) []int {
	return get(r, name, fmt.Sprintf("a list of integers >= %d", min), def, func(x any) ([]int, bool) { return list(x, atLeast(min)) })
}

// Done returns all errors, parameters that nobody asked for included.
func (r *Reader) Done() error {
	known := r.Known()
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(r.m)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	errs := r.errs
	if len(unknown) > 0 {
		takes := "it takes none"
		if len(known) > 0 {
			takes = "known are " + strings.Join(known, ", ")
		}
		errs = append(slices.Clip(errs), fmt.Errorf("%s: unknown parameter %s: %s", r.what, strings.Join(unknown, ", "), takes))
	}
	return errors.Join(errs...)
}
