package ps

import (
	"encoding/json"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// TestDiv checks that parts cover the rows in order, the first ones larger, and
// that partOf is the inverse.
func TestDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 200).Draw(t, "rows")
		n := rapid.IntRange(1, rows).Draw(t, "parts")
		at := 0
		for i := range n {
			lo, hi := div(rows, n, i)
			if want := rows/n + map[bool]int{true: 1}[i < rows%n]; lo != at || hi-lo != want {
				t.Fatalf("part %d of %d of %d rows: %d to %d", i, n, rows, lo, hi)
			}
			for r := lo; r < hi; r++ {
				if partOf(rows, n, r) != i {
					t.Fatalf("row %d of %d is in part %d of %d, got %d", r, rows, i, n, partOf(rows, n, r))
				}
			}
			at = hi
		}
		if at != rows {
			t.Fatalf("%d of %d rows", at, rows)
		}
	})
}

// TestPlacement spreads parts by size, equally in every process.
func TestPlacement(t *testing.T) {
	j := newJob(t, "adam", nil)
	p := j.plan(t, Config{Servers: 2, Partitioner: FixedShards(3)})
	if q := j.plan(t, Config{Servers: 2, Partitioner: FixedShards(3)}); q.Digest() != p.Digest() {
		t.Error("two plans of the same differ")
	}
	for _, c := range []Config{{Servers: 3, Partitioner: FixedShards(3)}, {Servers: 2}, {Servers: 2, Partitioner: FixedShards(3), Sync: &Sync{1, 1}}, {Servers: 2, Partitioner: FixedShards(3), Staleness: 1}, {Servers: 2, Partitioner: FixedShards(3), Placement: RoundRobin}} {
		if q := j.plan(t, c); q.Digest() == p.Digest() {
			t.Errorf("%+v has the same digest", c)
		}
	}
	load := map[int]int64{}
	for _, u := range p.Units() {
		load[u.Server] += p.bytes(u)
	}
	if math.Abs(float64(load[0]-load[1])) > 40 {
		t.Errorf("load %v", load)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := parsePlan(text)
	if err != nil || q.Digest() != p.Digest() || len(q.Units()) != len(p.Units()) {
		t.Errorf("after transport: %v, %v", q, err)
	}
}

func TestRefusedPlans(t *testing.T) {
	v := func(name string, d tensor.DType, shape ...int) []*models.Variable {
		return []*models.Variable{{Name: name, DType: d, Shape: shape}}
	}
	trained := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: v("x", tensor.Float32, 2), Rule: rule.SGD{}, LearningRate: optimizers.Constant(1)}}}
	twice := &optimizers.TrainOp{Groups: append(trained.Groups, trained.Groups...)}
	integer := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: v("x", tensor.Int32, 2), Rule: rule.SGD{}, LearningRate: optimizers.Constant(1)}}}
	nan := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: v("x", tensor.Float32, 2), Rule: rule.SGD{}, LearningRate: optimizers.PiecewiseConstant{}}}}
	pattern := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: v("x", tensor.Float32, 2), Rule: rule.SGD{}, LearningRate: optimizers.Constant(1), WeightDecay: 0.1, NoDecay: "("}}}
	for want, c := range map[string]struct {
		v []*models.Variable
		c Config
	}{
		"parameter servers: expected 1":   {v("x", tensor.Float32), Config{}},
		"variables: expected 1":           {nil, Config{Servers: 1}},
		"numeric type":                    {v("x", tensor.String), Config{Servers: 1}},
		"not possible":                    {v("x", tensor.Float32, 1<<40, 1<<40), Config{Servers: 1}},
		"less than 2^31 rows":             {v("x", tensor.Float32, 1<<33), Config{Servers: 1}},
		"is there twice":                  {append(v("x", tensor.Float32), v("x", tensor.Float32)...), Config{Servers: 1}},
		"not among the variables":         {v("y", tensor.Float32), Config{Servers: 1, Train: trained}},
		"two gradients":                   {v("x", tensor.Float32, 2), Config{Servers: 1, Train: twice}},
		"float32 or float64":              {v("x", tensor.Int32, 2), Config{Servers: 1, Train: integer}},
		"group 0: no_decay: error pars":   {v("x", tensor.Float32, 2), Config{Servers: 1, Train: pattern}},
		"is NaN at step 0":                {v("x", tensor.Float32, 2), Config{Servers: 1, Train: nan}},
		"replicas to aggregate":           {v("x", tensor.Float32), Config{Servers: 1, Sync: &Sync{3, 2}}},
		"expected by_size or round_robin": {v("x", tensor.Float32), Config{Servers: 1, Placement: "by_moon"}},
		"staleness -1":                    {v("x", tensor.Float32), Config{Servers: 1, Staleness: -1}},
		"staleness bound is for":          {v("x", tensor.Float32), Config{Servers: 1, Staleness: 1, Sync: &Sync{1, 1}}},
		"step function":                   {v("x", tensor.Float32), Config{Servers: 1, Train: &optimizers.TrainOp{Step: &optimizers.StepOp{Function: "f"}}}},
		"at most one with":                {v("x", tensor.Float32, 2), Config{Servers: 1, Train: &optimizers.TrainOp{Groups: trained.Groups, Transforms: []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: 1}, {Kind: optimizers.ClipValue, Limit: 1}}}}},
		"workers of asynchronous ones":    {v("x", tensor.Float32, 2), Config{Servers: 1, Train: &optimizers.TrainOp{Groups: trained.Groups, Transforms: []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: 1}}}}},
		"no accumulation of gradients":    {v("x", tensor.Float32, 2), Config{Servers: 1, Train: &optimizers.TrainOp{Groups: trained.Groups, AccumulateSteps: 2, Transforms: []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: 1}}}}},
	} {
		if _, err := NewPlan(c.v, c.c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestRulesTravel sends every rule and schedule through JSON.
func TestRulesTravel(t *testing.T) {
	d := optimizers.Decay{Initial: 0.1, Steps: 3, Rate: 0.7, Staircase: true}
	schedules := []optimizers.Schedule{optimizers.Constant(0.1), optimizers.Exponential{Decay: d}, optimizers.InverseTime{Decay: d}, optimizers.NaturalExp{Decay: d},
		optimizers.PiecewiseConstant{Boundaries: []int64{2}, Values: []float64{1, 0.1}}, optimizers.Polynomial{Initial: 1, Steps: 4, Power: 2, Cycle: true},
		optimizers.Cosine{Initial: 1, Steps: 5, Alpha: 0.1}, optimizers.CosineRestarts{Initial: 1, Steps: 2, TMul: 2, MMul: 0.5}, optimizers.Noam{Initial: 1, Model: 64, Warmup: 3},
		optimizers.OneCycle{Max: 1, Steps: 10, Rise: 0.3, Start: 25, End: 1e4},
		optimizers.Warmup{Steps: 3, Then: optimizers.Cosine{Initial: 1, Steps: 5}}}
	for _, s := range schedules {
		text, err := json.Marshal(scheduleJSON{s})
		if err != nil {
			t.Fatal(err)
		}
		var got scheduleJSON
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for step := range int64(9) {
			if optimizers.RateAt(got, step) != optimizers.RateAt(s, step) {
				t.Errorf("%s at %d: %g, expected %g", text, step, optimizers.RateAt(got, step), optimizers.RateAt(s, step))
			}
		}
	}
	for _, name := range optimizers.Names() {
		o, err := optimizers.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(ruleJSON{o.Rule})
		if err != nil {
			t.Fatal(err)
		}
		var got ruleJSON
		if err := json.Unmarshal(text, &got); err != nil || got.Rule != o.Rule {
			t.Errorf("%s: %#v, %v", text, got.Rule, err)
		}
	}
	for _, text := range []string{`{}`, `{"name":"sgd"}`, `{"name":"x","parameters":{}}`, `[]`, `{"name":"warmup","parameters":3}`} {
		if json.Unmarshal([]byte(text), &scheduleJSON{}) == nil || json.Unmarshal([]byte(text), &ruleJSON{}) == nil {
			t.Errorf("%s: expected an error", text)
		}
	}
	if _, err := json.Marshal(ruleJSON{rule.Momentum{Momentum: math.NaN()}}); err == nil {
		t.Error("NaN: expected an error")
	}
}
