package networks

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/models/layers"
)

// Params decodes a network's parameters. Every getter names a key, which makes
// it known, and a default; errors are collected.
type Params struct {
	name   string
	values map[string]any
	keys   []string
	errs   []error
}

// Int returns a whole number of at least min.
func (p *Params) Int(key string, def, min int) int {
	v, ok := p.get(key)
	if !ok {
		return def
	}
	n, err := toInt(v)
	if err != nil || n < min {
		p.bad(key, v, fmt.Sprintf("a whole number >= %d", min))
		return def
	}
	return n
}

// Float returns a number in min..max.
func (p *Params) Float(key string, def, min, max float64) float64 {
	return p.number(key, def, fmt.Sprintf("a number in %g..%g", min, max), func(f float64) bool { return f >= min && f <= max })
}

// Rate returns a number in 0..1, 1 excluded.
func (p *Params) Rate(key string, def float64) float64 {
	return p.number(key, def, "a number >= 0 and < 1", func(f float64) bool { return f >= 0 && f < 1 })
}

func (p *Params) number(key string, def float64, expected string, ok func(float64) bool) float64 {
	v, given := p.get(key)
	if !given {
		return def
	}
	f, err := toFloat(v)
	if err != nil || !ok(f) {
		p.bad(key, v, expected)
		return def
	}
	return f
}

// Bool returns a truth value.
func (p *Params) Bool(key string, def bool) bool {
	v, ok := p.get(key)
	if !ok {
		return def
	}
	if b, err := strconv.ParseBool(fmt.Sprint(v)); err == nil {
		return b
	}
	p.bad(key, v, "true or false")
	return def
}

// Ints returns a list of whole numbers >= 1: a list, one number, or text such as "512,256".
func (p *Params) Ints(key string, def ...int) []int {
	v, ok := p.get(key)
	if !ok {
		return def
	}
	items, ok := list(v)
	out := []int{}
	for _, e := range items {
		n, err := toInt(e)
		if err != nil || n < 1 {
			ok = false
			break
		}
		out = append(out, n)
	}
	if !ok {
		p.bad(key, v, "a list of whole numbers >= 1")
		return def
	}
	return out
}

// Activation returns the activation of a name that layers.ActivationByName knows.
func (p *Params) Activation(key, def string) layers.Activation {
	name := def
	if v, ok := p.get(key); ok {
		name = fmt.Sprint(v)
	}
	a, err := layers.ActivationByName(name)
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("network %s: parameter %s: %w", p.name, key, err))
	}
	return a
}

func (p *Params) get(key string) (any, bool) {
	p.keys = append(p.keys, key)
	v, ok := p.values[key]
	return v, ok && v != nil
}

func (p *Params) bad(key string, got any, expected string) {
	p.errs = append(p.errs, fmt.Errorf("network %s: parameter %s is %v: expected %s", p.name, key, got, expected))
}

func (p *Params) known() []string {
	slices.Sort(p.keys)
	return slices.Compact(p.keys)
}

// check returns all errors, one for each unknown key included.
func (p *Params) check() error {
	known := p.known()
	var unknown []string
	for k := range p.values {
		if !slices.Contains(known, k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	for _, k := range unknown {
		p.errs = append(p.errs, fmt.Errorf("network %s: unknown parameter %q: expected one of %s", p.name, k, strings.Join(known, ", ")))
	}
	return errors.Join(p.errs...)
}

func toFloat(v any) (float64, error) {
	if b, ok := v.(bool); ok {
		return 0, fmt.Errorf("%v is no number", b)
	}
	return strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(v)), 64)
}

func toInt(v any) (int, error) {
	f, err := toFloat(v)
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, fmt.Errorf("%v is no whole number of 32 bits", v)
	}
	return int(f), nil
}

// list returns the items of a list in any of its forms; "" is the empty list.
func list(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case []int:
		return anys(x), true
	case []float64:
		return anys(x), true
	case []string:
		return anys(x), true
	case string:
		s := strings.TrimSpace(strings.Trim(strings.TrimSpace(x), "[]"))
		if s == "" {
			return nil, true
		}
		return anys(strings.Split(s, ",")), true
	case bool, map[string]any:
		return nil, false
	}
	return []any{v}, true
}

func anys[T any](in []T) []any {
	out := make([]any, len(in))
	for i, e := range in {
		out[i] = e
	}
	return out
}
