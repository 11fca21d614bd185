package params

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/spelling"
)

// Reader reads values from a map of parameters. Each getter makes its name known,
// and returns the default for a missing or nil value. Done reports all errors, and
// names that no getter asked for.
type Reader struct {
	what  string
	m     map[string]any
	known []string
	wrong map[string]bool // parameters with an error
	errs  []error
}

// Read returns a Reader of m; what names the owner in errors, "" none.
func Read(what string, m map[string]any) *Reader {
	return &Reader{what: what, m: m, wrong: map[string]bool{}}
}

// Fail records an error about the parameters as a whole, unless one of them has an
// error itself, which may be the cause.
func (r *Reader) Fail(err error) {
	if len(r.errs) == 0 {
		r.add(err)
	}
}

func (r *Reader) add(err error) {
	if r.what != "" {
		err = fmt.Errorf("%s: %w", r.what, err)
	}
	r.errs = append(r.errs, err)
}

// Refuse records an error of one parameter; the first one counts.
func (r *Reader) Refuse(name string, err error) {
	if !r.wrong[name] {
		r.wrong[name] = true
		r.add(fmt.Errorf("%s: %w", name, err))
	}
}

// Expect refuses a parameter's value; expected describes the accepted values.
func (r *Reader) Expect(name, expected string) {
	r.Refuse(name, fmt.Errorf("expected %s, got %v (%T)", expected, r.m[name], r.m[name]))
}

// Has reports whether the parameter is given.
func (r *Reader) Has(name string) bool { return r.m[name] != nil }

// Also gives a parameter that is read later a second name.
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

// Any returns a parameter unconverted, or nil if it is missing.
func (r *Reader) Any(name string) any {
	r.known = append(r.known, name)
	return r.m[name]
}

// Known returns the names that getters asked for, sorted.
func (r *Reader) Known() []string { return slices.Compact(slices.Sorted(slices.Values(r.known))) }

// Rest returns the parameters that no getter asked for.
func (r *Reader) Rest() map[string]any {
	rest := maps.Clone(r.m)
	for _, name := range r.known {
		delete(rest, name)
	}
	return rest
}

// Get converts a parameter; def is for a missing or wrong one, expected describes
// what convert accepts.
func Get[T any](r *Reader, name, expected string, def T, convert func(any) (T, bool)) T {
	raw := r.Any(name)
	if raw == nil {
		return def
	}
	v, ok := convert(raw)
	if !ok {
		r.Expect(name, expected)
		return def
	}
	return v
}

// Float returns a number.
func (r *Reader) Float(name string, def float64) float64 {
	return Get(r, name, "a number", def, Float)
}

// FloatIn returns a number in min..max.
func (r *Reader) FloatIn(name string, def, min, max float64) float64 {
	return Get(r, name, fmt.Sprintf("a number in %g..%g", min, max), def, func(x any) (float64, bool) {
		v, ok := Float(x)
		return v, ok && v >= min && v <= max
	})
}

// Rate returns a number from 0 to 1, without 1.
func (r *Reader) Rate(name string, def float64) float64 {
	return Get(r, name, "a number >= 0 and < 1", def, func(x any) (float64, bool) {
		v, ok := Float(x)
		return v, ok && v >= 0 && v < 1
	})
}

// Int returns an integer of at least min.
func (r *Reader) Int(name string, def, min int) int {
	return Get(r, name, fmt.Sprintf("an integer >= %d", min), def, atLeast(min))
}

// Bool returns a boolean.
func (r *Reader) Bool(name string, def bool) bool {
	return Get(r, name, "true or false", def, truth)
}

// String returns a string.
func (r *Reader) String(name, def string) string {
	return Get(r, name, "a string", def, Text)
}

// Floats returns a list of numbers.
func (r *Reader) Floats(name string, def ...float64) []float64 {
	return Get(r, name, "a list of numbers", def, func(x any) ([]float64, bool) { return OneOrMore(x, Float) })
}

// Ints returns a list of integers of at least min.
func (r *Reader) Ints(name string, min int, def ...int) []int {
	return Get(r, name, fmt.Sprintf("a list of integers >= %d", min), def, func(x any) ([]int, bool) { return OneOrMore(x, atLeast(min)) })
}

// Words returns a list of texts, even if YAML read them as other types, or nil.
func (r *Reader) Words(name string) []string {
	return Get(r, name, "a list of words", nil, words)
}

// Err returns the errors of the parameters read so far.
func (r *Reader) Err() error { return errors.Join(r.errs...) }

// Done returns all errors, including one for parameters that no getter asked for.
func (r *Reader) Done() error {
	if unknown := slices.Sorted(maps.Keys(r.Rest())); len(unknown) > 0 {
		noun, takes := "parameter", "it takes none"
		if len(unknown) > 1 {
			noun = "parameters"
		}
		if known := r.Known(); len(known) > 0 {
			takes = "known are " + strings.Join(known, ", ")
			if near := spelling.Nearest(unknown[0], known); near != "" && len(unknown) == 1 {
				takes += "; did you mean " + near + "?"
			}
		}
		r.add(fmt.Errorf("unknown %s %s: %s", noun, strings.Join(unknown, ", "), takes))
	}
	return r.Err()
}
