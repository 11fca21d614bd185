package search

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Trial is one training.
type Trial struct {
	Number int            `json:"trial"`
	Values map[string]any `json:"values"`          // of the keys
	Steps  int64          `json:"steps,omitempty"` // until which it is trained now; 0: as the config says
}

// Sets are the arguments key=value of the trial, in the order of the keys.
func (t Trial) Sets() []string {
	var sets []string
	for _, key := range slices.Sorted(maps.Keys(t.Values)) {
		sets = append(sets, key+"="+text(t.Values[key]))
	}
	return sets
}

// text is a value as the command line takes it.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Result is what came of a trial.
type Result struct {
	Trial
	Value *float64 `json:"value"` // of the metric; nil: none, or not a number
	Error string   `json:"error,omitempty"`

	Metrics map[string]float64 `json:"metrics,omitempty"` // all of the last evaluation that are finite
	Curve   []Point            `json:"curve,omitempty"`   // the metric of each evaluation, where the median stopping rule needs it
	Stopped bool               `json:"stopped,omitempty"` // by that rule
}

// Got reports the value of the metric, where there is one.
func (r Result) Got() (float64, bool) {
	if r.Value == nil || math.IsNaN(*r.Value) {
		return 0, false
	}
	return *r.Value, true
}

// better reports whether the value of r is better than that of o; any value is better than none.
func (s *Search) better(r, o Result) bool {
	x, ok := r.Got()
	y, has := o.Got()
	if !ok || !has {
		return ok && !has
	}
	return s.higher(x, y)
}

// ranked are results from the best to the worst; of equal ones the earlier trial comes first.
func (s *Search) ranked(list []Result) []Result {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Result) int {
		switch {
		case s.better(a, b):
			return -1
		case s.better(b, a):
			return 1
		}
		return a.Number - b.Number
	})
	return out
}
