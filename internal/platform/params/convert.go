package params

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Float accepts any number, and numeric text: values of flags and the environment
// are text.
func Float(x any) (float64, bool) {
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

// Integer accepts any whole number.
func Integer(x any) (int, bool) {
	switch v := x.(type) {
	case int:
		return v, true
	case int64:
		return int(v), int64(int(v)) == v
	}
	f, ok := Float(x)
	return int(f), ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 && float64(int(f)) == f
}

func atLeast(min int) func(any) (int, bool) {
	return func(x any) (int, bool) {
		v, ok := Integer(x)
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

// Text accepts a string.
func Text(x any) (string, bool) {
	s, ok := x.(string)
	return s, ok
}

// List accepts a list, or text such as "512, 256"; "" is the empty list.
func List[T any](x any, convert func(any) (T, bool)) ([]T, bool) {
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
	return nil, false
}

// OneOrMore accepts what List accepts, or a single item.
func OneOrMore[T any](x any, convert func(any) (T, bool)) ([]T, bool) {
	if one, ok := convert(x); ok {
		return []T{one}, true
	}
	return List(x, convert)
}

// words accepts a list of anything, as its items print, or words separated by
// commas.
func words(x any) ([]string, bool) {
	if text, ok := x.(string); ok {
		return strings.Split(text, ","), true
	}
	return List(x, func(item any) (string, bool) { return fmt.Sprint(item), true })
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
