package update

import (
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// everySchedule has each schedule in its forms, as in a config file.
var everySchedule = []struct {
	name string
	spec any
	want map[int64]float64 // computed by hand from TensorFlow's formulas
}{
	{"number", 0.1, map[int64]float64{0: 0.1, 1000: 0.1}},
	{"integer", 1, map[int64]float64{7: 1}},
	{"constant", map[string]any{"schedule": "constant", "initial": 0.2}, map[int64]float64{5: 0.2}},
	{"exponential", map[string]any{"schedule": "exponential", "initial": 0.1, "decay_steps": 100, "decay_rate": 0.5},
		map[int64]float64{0: 0.1, 100: 0.05, 200: 0.025, 50: 0.1 / math.Sqrt2}},
	{"staircase", map[string]any{"schedule": "exponential", "initial": 0.1, "decay_steps": 100, "decay_rate": 0.5, "staircase": true},
		map[int64]float64{0: 0.1, 99: 0.1, 100: 0.05, 199: 0.05, 200: 0.025}},
	{"inverse_time", map[string]any{"schedule": "inverse_time", "initial": 0.1, "decay_steps": 10, "decay_rate": 0.5}, map[int64]float64{0: 0.1, 20: 0.05}},
	{"inverse_time staircase", map[string]any{"schedule": "inverse_time", "initial": 0.1, "decay_steps": 10, "decay_rate": 1.0, "staircase": true}, map[int64]float64{9: 0.1, 10: 0.05}},
	{"natural_exp", map[string]any{"schedule": "natural_exp", "initial": 0.1, "decay_steps": 10, "decay_rate": 2.0}, map[int64]float64{0: 0.1, 5: 0.1 / math.E}},
	{"piecewise", map[string]any{"schedule": "piecewise_constant", "initial": 0.5, "boundaries": []any{10, 20}, "values": []any{1.0, 0.5, 0.1}},
		map[int64]float64{0: 1, 10: 1, 11: 0.5, 20: 0.5, 21: 0.1, 9999: 0.1}},
	{"polynomial", map[string]any{"schedule": "polynomial", "initial": 1.0, "end": 0.2, "decay_steps": 100}, map[int64]float64{0: 1, 50: 0.6, 100: 0.2, 500: 0.2}},
	{"polynomial squared", map[string]any{"schedule": "polynomial", "initial": 1.0, "decay_steps": 100, "power": 2.0}, map[int64]float64{50: 0.25, 100: 0}},
	{"polynomial cycle", map[string]any{"schedule": "polynomial", "initial": 1.0, "decay_steps": 100, "cycle": true},
		map[int64]float64{0: 1, 50: 0.5, 100: 0, 150: 0.25, 101: 1 - 101.0/200}},
	{"cosine", map[string]any{"schedule": "cosine", "initial": 1.0, "decay_steps": 100}, map[int64]float64{0: 1, 50: 0.5, 100: 0, 1000: 0}},
	{"cosine alpha", map[string]any{"schedule": "cosine", "initial": 2.0, "decay_steps": 100, "alpha": 0.1}, map[int64]float64{0: 2, 50: 1.1, 100: 0.2}},
	{"restarts", map[string]any{"schedule": "cosine_restarts", "initial": 1.0, "decay_steps": 10}, map[int64]float64{0: 1, 5: 0.5, 10: 1, 20: 0.5, 30: 1, 50: 0.5, 70: 1, 150: 1}},
	{"restarts equal", map[string]any{"schedule": "cosine_restarts", "initial": 1.0, "decay_steps": 10, "t_mul": 1.0, "m_mul": 0.5, "alpha": 0.1},
		map[int64]float64{0: 1, 10: 0.9*0.5 + 0.1, 20: 0.9*0.25 + 0.1}},
	{"noam", map[string]any{"schedule": "noam", "model_size": 4, "decay_steps": 16}, map[int64]float64{0: 0.5 / 64, 15: 0.125, 63: 0.0625}},
	{"one_cycle", map[string]any{"schedule": "one_cycle", "initial": 0.5, "decay_steps": 20}, map[int64]float64{0: 0.02, 1: 0.02 + 0.24*(1-math.Cos(math.Pi/5)), 5: 0.5, 12: 0.250001, 19: 2e-6, 99: 2e-6}},
	{"warmup", map[string]any{"initial": 0.4, "warmup_steps": 4}, map[int64]float64{0: 0, 1: 0.1, 3: 0.3, 4: 0.4, 5: 0.4}},
	{"warmup cosine", map[string]any{"schedule": "cosine", "initial": 1.0, "decay_steps": 100, "warmup_steps": 10}, map[int64]float64{5: 0.5, 10: 1, 60: 0.5, 110: 0}},
	{"warmup restarts", map[string]any{"schedule": "cosine_restarts", "initial": 1.0, "decay_steps": 10, "warmup_steps": 5}, map[int64]float64{15: 1}},
}

// TestSchedulesInGraph checks that the emitted graph gives the same rates as At.
func TestSchedulesInGraph(t *testing.T) {
	for _, c := range everySchedule {
		t.Run(c.name, func(t *testing.T) {
			s, err := optimizers.NewSchedule(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			tr := start(t, trainOp(&optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: s}, variable("w", 1)), map[string]*tensor.Tensor{"w": vector(0)}, nil)
			check := func(step int64) {
				tr.step = step
				before := tr.get("w")[0]
				tr.run(vector(1))
				near(t, "rate in the graph", []float64{tr.prog.Value(0).Float(0)}, []float64{optimizers.RateAt(s, step)}, 1e-12)
				near(t, "rate applied", []float64{before - tr.get("w")[0]}, []float64{optimizers.RateAt(s, step)}, 1e-9)
			}
			for step := range int64(300) {
				check(step)
			}
			for _, step := range []int64{1000, 12345, 1 << 20, 1 << 40} {
				check(step)
			}
			for step, want := range c.want {
				near(t, "At", []float64{optimizers.RateAt(s, step)}, []float64{want}, 1e-12)
			}
		})
	}
}

func TestSchedulesStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := map[string]any{"schedule": rapid.SampledFrom([]string{"exponential", "inverse_time", "natural_exp", "polynomial", "cosine", "cosine_restarts"}).Draw(t, "schedule"),
			"initial": 1.0, "decay_steps": rapid.Int64Range(1, 1000).Draw(t, "decay_steps")}
		switch p["schedule"] {
		case "exponential", "inverse_time", "natural_exp":
			p["decay_rate"] = rapid.Float64Range(1e-3, 1).Draw(t, "decay_rate")
		case "cosine_restarts":
			p["t_mul"] = rapid.Float64Range(1, 4).Draw(t, "t_mul")
		}
		p["warmup_steps"] = rapid.Int64Range(0, 100).Draw(t, "warmup_steps")
		s, err := optimizers.NewSchedule(p)
		if err != nil {
			t.Fatal(err)
		}
		step := rapid.Int64Range(0, 1<<40).Draw(t, "step")
		if r := optimizers.RateAt(s, step); !(r >= -1e-9 && r <= 1+1e-9) {
			t.Fatalf("%v at step %d: rate %g outside [0, 1]", p, step, r)
		}
	})
}

func TestScheduleErrors(t *testing.T) {
	for _, c := range []struct {
		spec any
		want string
	}{
		{"fast", `learning_rate: initial: expected a number, got fast (string)`},
		{-1, "initial: got -1, expected >= 0"},
		{map[string]any{"schedule": "cosin", "initial": 1}, `unknown schedule "cosin": expected one of constant, cosine,`},
		{map[string]any{"schedule": "cosine", "decay_steps": 5}, "initial: expected a number"},
		{map[string]any{"schedule": "cosine", "initial": 1}, "decay_steps: expected an integer >= 1"},
		{map[string]any{"schedule": "exponential", "initial": 1, "decay_steps": 5}, "decay_rate: got 0, expected > 0"},
		{map[string]any{"schedule": "cosine", "initial": 1, "decay_steps": 5, "stairs": true}, "unknown parameter stairs: known are alpha, decay_steps, initial, schedule, warmup_steps"},
		{map[string]any{"schedule": "cosine", "initial": 1, "decay_steps": 2.5}, "decay_steps: expected an integer >= 1, got 2.5 (float64)"},
		{map[string]any{"schedule": "cosine_restarts", "initial": 1, "decay_steps": 2, "t_mul": 0.5}, "expected t_mul >= 1"},
		{map[string]any{"schedule": "piecewise_constant", "boundaries": []any{5, 3}, "values": []any{1, 2, 3}}, "expected increasing boundaries and one value more"},
		{map[string]any{"schedule": "piecewise_constant", "boundaries": []any{5}, "values": []any{1}}, "expected increasing boundaries and one value more"},
		{map[string]any{"initial": 1, "warmup_steps": -1}, "warmup_steps: expected an integer >= 0, got -1"},
	} {
		if _, err := optimizers.NewSchedule(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewSchedule(%v): got %v, want %q", c.spec, err, c.want)
		}
	}
}
