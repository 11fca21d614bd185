package optimizers

import (
	"math"
	"strings"
	"testing"
)

func TestSequence(t *testing.T) {
	s := Sequence{Schedules: []Schedule{Constant(1), Polynomial{Initial: 0.5, Steps: 4, Power: 1}, Constant(3)}, Boundaries: []int64{2, 5}}
	for step, want := range []float64{1, 1, 0.5, 0.375, 0.25, 3, 3} {
		if got := RateAt(s, int64(step)); got != want {
			t.Errorf("step %d: got %v, expected %v", step, got, want)
		}
	}
	if got := RateAt(Sequence{Schedules: []Schedule{Constant(1)}, Boundaries: []int64{2}}, 0); !math.IsNaN(got) {
		t.Errorf("one schedule with one boundary: got %v, expected NaN", got)
	}
	if got := RateAt(Scaled{Constant(0.5), s}, 3); got != 0.1875 {
		t.Errorf("half of it at step 3: got %v, expected 0.1875", got)
	}
}

func TestOneCycleRefused(t *testing.T) {
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"pct_start", 1.0, "pct_start"}, {"pct_start", 0.01, "expected more than one step"}, {"div_factor", 0.0, "div_factor"}, {"final_div_factor", -1.0, "final_div_factor"},
	} {
		_, err := NewSchedule(map[string]any{"schedule": "one_cycle", "initial": 0.5, "decay_steps": 20, c.key: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: got %v, expected %q", c.key, c.value, err, c.want)
		}
	}
	l := LearningRateSpec{Schedule: "one_cycle", Initial: 0.5, DecaySteps: 20, PctStart: 2}
	if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "pct_start") {
		t.Errorf("got %v, expected pct_start to be refused", err)
	}
}
