package interop_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// compareRuns compares a script's output on our servers with its output in runs on TensorFlow's servers. The error says how it differs.
type compareRuns func(reference []string, got string) error

// exactly requires the same text.
func exactly(reference []string, got string) error {
	if got != reference[0] {
		return fmt.Errorf("got\n%s\nTensorFlow's servers gave\n%s", got, reference[0])
	}
	return nil
}

// nearly requires the same JSON values, line by line; numbers may differ by 1e-5, relative to values above 1.
func nearly(reference []string, got string) error {
	return eachValue(reference[:1], got, func(want []float64, x float64) bool {
		return testkit.Near(x, want[0], 1e-5*max(1, math.Abs(want[0])))
	})
}

// spread requires the same JSON values, line by line, but numbers with a fraction may lie outside the reference's range by the width of the
// range, or by a tenth of its values if it is narrow.
func spread(reference []string, got string) error {
	return eachValue(reference, got, func(want []float64, x float64) bool {
		low, high := slices.Min(want), slices.Max(want)
		room := max(high-low, 0.1*max(math.Abs(low), math.Abs(high)))
		whole := !slices.ContainsFunc(append(want, x), func(v float64) bool { return v != math.Trunc(v) })
		return whole && low == high && x == low || !whole && low-room <= x && x <= high+room
	})
}

// eachValue compares lines of JSON; same compares a number with the reference's.
func eachValue(reference []string, got string, same func(want []float64, x float64) bool) error {
	lines := strings.Split(strings.TrimSpace(got), "\n")
	all := make([][]string, len(reference))
	for i, r := range reference {
		if all[i] = strings.Split(strings.TrimSpace(r), "\n"); len(all[i]) != len(lines) {
			return fmt.Errorf("got %d lines, TensorFlow's servers gave %d:\n%s\n%s", len(lines), len(all[i]), got, r)
		}
	}
	for n, line := range lines {
		var x any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		want := make([]any, len(all))
		for i := range all {
			if err := json.Unmarshal([]byte(all[i][n]), &want[i]); err != nil {
				return fmt.Errorf("%w: %s", err, all[i][n])
			}
		}
		if !sameValue(want, x, same) {
			return fmt.Errorf("line %d: got\n%s\nTensorFlow's servers gave\n%s", n+1, line, all[0][n])
		}
	}
	return nil
}

// sameValue compares a value with the reference's values at the same place.
func sameValue(want []any, x any, same func([]float64, float64) bool) bool {
	switch x := x.(type) {
	case float64:
		numbers, ok := ofType[float64](want)
		return ok && same(numbers, x)
	case []any:
		lists, ok := ofType[[]any](want)
		for i := 0; ok && i < len(x); i++ {
			at := make([]any, len(lists))
			for j, l := range lists {
				if ok = ok && len(l) == len(x); ok {
					at[j] = l[i]
				}
			}
			ok = ok && sameValue(at, x[i], same)
		}
		return ok && !slices.ContainsFunc(lists, func(l []any) bool { return len(l) != len(x) })
	case map[string]any:
		objects, ok := ofType[map[string]any](want)
		for key, v := range x {
			at := make([]any, len(objects))
			for j, o := range objects {
				at[j] = o[key]
			}
			ok = ok && sameValue(at, v, same)
		}
		return ok && !slices.ContainsFunc(objects, func(o map[string]any) bool { return len(o) != len(x) })
	default: // texts, booleans, null
		return !slices.ContainsFunc(want, func(w any) bool { return w != x })
	}
}

func ofType[T any](all []any) (values []T, ok bool) {
	for _, v := range all {
		x, ok := v.(T)
		if !ok {
			return nil, false
		}
		values = append(values, x)
	}
	return values, true
}

// TestCompareRuns: each comparison accepts equal runs, and no others.
func TestCompareRuns(t *testing.T) {
	reference := []string{"[\"loss\", [0.5, 1]]\n{\"step\": 8}\n", "[\"loss\", [0.6, 1]]\n{\"step\": 8}\n"}
	for _, c := range []struct {
		name    string
		compare compareRuns
		got     string
		same    bool
	}{
		{"exactly", exactly, reference[0], true},
		{"exactly", exactly, reference[1], false},
		{"nearly", nearly, "[\"loss\", [0.500005, 1]]\n{\"step\": 8}\n", true},
		{"nearly", nearly, "[\"loss\", [0.50005, 1]]\n{\"step\": 8}\n", false},
		{"nearly", nearly, "[\"lose\", [0.5, 1]]\n{\"step\": 8}\n", false},
		{"nearly", nearly, "[\"loss\", [0.5, 1]]\n{\"step\": 8, \"more\": 1}\n", false},
		{"nearly", nearly, "[\"loss\", [0.5]]\n{\"step\": 8}\n", false},
		{"nearly", nearly, "[\"loss\", [0.5, null]]\n{\"step\": 8}\n", false},
		{"nearly", nearly, "[\"loss\", [0.5, 1]]\n", false},
		{"spread", spread, "[\"loss\", [0.69, 1]]\n{\"step\": 8}\n", true},
		{"spread", spread, "[\"loss\", [0.71, 1]]\n{\"step\": 8}\n", false},
		{"spread", spread, "[\"loss\", [0.55, 1]]\n{\"step\": 9}\n", false},
	} {
		if err := c.compare(reference, c.got); (err == nil) != c.same {
			t.Errorf("%s: %s: %v, expected the same: %v", c.name, c.got, err, c.same)
		}
	}
}
