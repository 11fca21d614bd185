package optimizers

import (
	"math"
	"strings"
	"testing"
)

// TestComposed: sequences and products of a config file equal their parts, step by step.
func TestComposed(t *testing.T) {
	list := func(parts ...any) []any { return parts }
	cosine := map[string]any{"schedule": "cosine", "initial": 0.2, "decay_steps": 10}
	warm := map[string]any{"schedule": "polynomial", "initial": 0.0, "end": 1.0, "decay_steps": 4, "steps": 4}
	decay := Cosine{Initial: 0.2, Steps: 10}
	rise := func(step int64) float64 { return float64(step) / 4 }
	for name, c := range map[string]struct {
		spec map[string]any
		want func(step int64) float64
	}{
		"sequence": {map[string]any{"schedule": "sequence", "parts": list(warm, cosine)}, func(step int64) float64 {
			if step < 4 {
				return rise(step)
			}
			return RateAt(decay, step-4)
		}},
		"product": {map[string]any{"schedule": "product", "parts": list(0.5, cosine, map[string]any{"schedule": "exponential", "initial": 1, "decay_steps": 3, "decay_rate": 0.5})}, func(step int64) float64 {
			return 0.5 * RateAt(decay, step) * math.Pow(0.5, float64(step)/3)
		}},
		"nested, with warm-ups": {map[string]any{"schedule": "sequence", "warmup_steps": 2, "parts": list(
			map[string]any{"initial": 0.25, "steps": 3, "warmup_steps": 2},
			map[string]any{"schedule": "product", "parts": list(2, cosine)})}, func(step int64) float64 {
			switch {
			case step < 2: // from 0 to the rate of the sequence's first step, which is 0
				return 0
			case step < 5:
				return 0.25 * math.Min(1, float64(step-2)/2)
			}
			return 2 * RateAt(decay, step-5)
		}},
	} {
		s, err := NewSchedule(c.spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for step := range int64(20) {
			if got, want := RateAt(s, step), c.want(step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: rate %g at step %d, expected %g", name, got, step, want)
			}
		}
	}
}

// TestComposedSpecs: the section of a config file gives the same schedules, and errors name what is wrong with a part.
func TestComposedSpecs(t *testing.T) {
	part := map[string]any{"schedule": "constant", "initial": 0.5, "steps": 3}
	l := LearningRateSpec{Schedule: "sequence", Initial: 0.001, Parts: []any{part, 0.25}}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	s := DefaultSpec()
	s.LearningRate = l
	o, err := s.Optimizer()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := RateAt(o.LearningRate, 2), RateAt(o.LearningRate, 3); a != 0.5 || b != 0.25 {
		t.Errorf("rates %g and %g, expected 0.5 and 0.25", a, b)
	}
	many := make([]any, mostParts+1)
	for i := range many {
		many[i] = 1.0
	}
	for want, l := range map[string]LearningRateSpec{
		"expected a list of schedules":             {Schedule: "sequence"},
		"a list of 1 to 64 schedules":              {Schedule: "product", Parts: many},
		"part 1: steps: expected a whole number":   {Schedule: "sequence", Parts: []any{0.5, 0.25}},
		"part 2: learning_rate: unknown parameter": {Schedule: "sequence", Parts: []any{part, part}},
		"part 1: learning_rate: decay_steps":       {Schedule: "product", Parts: []any{map[string]any{"schedule": "cosine", "initial": 1}}},
		"part 1: learning_rate: schedule":          {Schedule: "product", Parts: []any{map[string]any{"schedule": 3}}},
		"expected none for schedule cosine":        {Schedule: "cosine", DecaySteps: 3, Initial: 1, Parts: []any{part}},
	} {
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
