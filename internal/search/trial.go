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
	Values map[string]any `json:"values"`          // by key
	Steps  int64          `json:"steps,omitempty"` // until which it is trained now; 0: as in the config
}

// Sets returns the trial's arguments key=value, in the order of the keys.
func (t Trial) Sets() []string {
	var sets []string
	for _, key := range slices.Sorted(maps.Keys(t.Values)) {
		sets = append(sets, key+"="+text(t.Values[key]))
	}
	return sets
}

// text is a value in command line form.
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

// Result is the result of a trial.
type Result struct {
	Trial
	Value *float64 `json:"value"` // of the metric; nil: none, or not a number
	Error string   `json:"error,omitempty"`

	Metrics map[string]float64 `json:"metrics,omitempty"` // all finite ones of the last evaluation
	Curve   []Point            `json:"curve,omitempty"`   // the metric of each evaluation, for the median stopping rule
	Stopped bool               `json:"stopped,omitempty"` // by that rule
}

// Got returns the value of the metric, if there is one.
func (r Result) Got() (float64, bool) {
	if r.Value == nil || math.IsNaN(*r.Value) {
		return 0, false
	}
	return *r.Value, true
}

// better reports whether r has a better value than o; any value is better than none.
func (s *Search) better(r, o Result) bool {
	x, ok := r.Got()
	y, has := o.Got()
	if !ok || !has {
		return ok && !has
	}
	return s.higher(x, y)
}

// ranked returns results from the best to the worst; among equal ones the earlier trial is first.
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
