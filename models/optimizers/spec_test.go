package optimizers

import (
	"slices"
	"strings"
	"testing"
)

func TestScheduleNames(t *testing.T) {
	if got, want := slices.Sorted(slices.Values(scheduleNames)), schedules.Names(); !slices.Equal(got, want) {
		t.Errorf("the config knows the schedules %v, NewSchedule %v", got, want)
	}
}

// TestSpecOfFtrl: all terms of FTRL reach the rule.
func TestSpecOfFtrl(t *testing.T) {
	half, two := 0.5, 2.0
	s := DefaultSpec()
	s.Name, s.L2Shrinkage, s.Beta, s.L1 = "ftrl", &half, &two, &two
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	o, err := s.Optimizer()
	if err != nil {
		t.Fatal(err)
	}
	want, err := New("ftrl", map[string]any{"l2_shrinkage": 0.5, "beta": 2, "l1": 2, "learning_rate": 0.001})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New("ftrl", map[string]any{"learning_rate": 0.001})
	if err != nil {
		t.Fatal(err)
	}
	if o.Rule != want.Rule || o.Rule == plain.Rule {
		t.Errorf("got the rule %+v, want %+v", o.Rule, want.Rule)
	}
}

func TestSpecOfNoam(t *testing.T) {
	s := DefaultSpec()
	s.LearningRate = LearningRateSpec{Schedule: "noam", ModelSize: 512, DecaySteps: 4000}
	s.LearningRate.Initial = s.LearningRate.DefaultInitial()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	o, err := s.Optimizer()
	if err != nil {
		t.Fatal(err)
	}
	if want := (Noam{Initial: 1, Model: 512, Warmup: 4000}); o.LearningRate != want {
		t.Errorf("got %+v, want %+v", o.LearningRate, want)
	}
	s.LearningRate.ModelSize = 0
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "learning_rate.model_size: got 0, expected > 0 for schedule noam") {
		t.Errorf("without a width: got %v", err)
	}
}
