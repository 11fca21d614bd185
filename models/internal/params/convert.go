package params

import (
	"math"
	"strconv"
	"strings"
)

// float takes any number, and text that is one: flags and the environment have text.
func float(x any) (float64, bool) {
	switch v := x.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// integer takes any number that is whole.
func integer(x any) (int, bool) {
	switch v := x.(type) {
	case int:
		return v, true
	case int64:
		return int(v), int64(int(v)) == v
	}
	f, ok := float(x)
	return int(f), ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 && float64(int(f)) == f
}

func atLeast(min int) func(any) (int, bool) {
	return func(x any) (int, bool) {
		v, ok := integer(x)
		return v, ok && v >= min
	}
}

func truth(x any) (bool, bool) {
	switch v := x.(type) {
	case bool:
		return v, true
	case string:
		b, err := strconv.ParseBool(strings.TrimSpace(v))
		return b, err == nil
	}
	return false, false
}

// list takes a list, one item, or text such as "512, 256"; "" is the empty list.
func list[T any](x any, convert func(any) (T, bool)) ([]T, bool) {
	switch v := x.(type) {
	case []any:
		return each(v, convert)
	case []int:
		return each(v, convert)
	case []int64:
		return each(v, convert)
	case []float64:
		return each(v, convert)
	case []string:
		return each(v, convert)
	case string:
		s := strings.TrimSpace(v)
		if inner, ok := strings.CutPrefix(s, "["); ok {
			if s, ok = strings.CutSuffix(inner, "]"); !ok {
				return nil, false
			}
		}
		if strings.TrimSpace(s) == "" {
			return []T{}, true
		}
		return each(strings.Split(s, ","), convert)
	}
	return each([]any{x}, convert)
}

func each[E, T any](in []E, convert func(any) (T, bool)) ([]T, bool) {
	out := make([]T, len(in))
	for i, e := range in {
		var ok bool
		if out[i], ok = convert(e); !ok {
			return nil, false
		}
	}
	return out, true
}
