package optimizers

import (
	"strings"
	"testing"
)

// TestNewAveraging: the forms in a config, and their errors.
func TestNewAveraging(t *testing.T) {
	for _, c := range []struct {
		spec any
		want Averaging
		err  string
	}{
		{"none", Averaging{}, ""},
		{"ema", Averaging{Kind: EMA, Decay: EMADecay, Every: 1}, ""},
		{"swa", Averaging{Kind: SWA, Every: 1}, ""},
		{map[string]any{"kind": "ema", "decay": 0.5, "rising": true, "start": 3, "every": 2}, Averaging{EMA, 0.5, true, 3, 2}, ""},
		{map[string]any{"kind": "swa", "start": 3}, Averaging{Kind: SWA, Start: 3, Every: 1}, ""},
		{map[string]any{"kind": "swa", "decay": 0.5}, Averaging{}, "its weights are all the same"},
		{map[string]any{"kind": "ema", "decay": 1.0}, Averaging{}, "expected >= 0 and < 1"},
		{map[string]any{"kind": "ema", "every": 0}, Averaging{}, "every"},
		{map[string]any{"kind": "ema", "start": -1}, Averaging{}, "start"},
		{map[string]any{"kind": "ema", "momentum": 1}, Averaging{}, "unknown parameter momentum"},
		{"polyak", Averaging{}, `Kind:polyak`},
		{0.9, Averaging{}, "expected"},
	} {
		got, err := NewAveraging(c.spec)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v: got %+v, %v, expected %+v, %q", c.spec, got, err, c.want, c.err)
		}
	}
	if o := SGD(1, WithAveraging(Averaging{Kind: EMA, Decay: 2})); o.Averaging.Check() == nil {
		t.Error("a decay of 2 is let pass")
	}
}

// TestSpecOfAveraging: values of a config file are checked and reach the optimizer.
func TestSpecOfAveraging(t *testing.T) {
	s := DefaultSpec()
	half := 0.5
	s.Averaging = AveragingSpec{Kind: "ema", Decay: &half, Rising: true, Start: 7, Every: 2}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	o, err := s.Optimizer()
	if want := (Averaging{EMA, 0.5, true, 7, 2}); err != nil || o.Averaging != want {
		t.Errorf("got %+v, %v, expected %+v", o.Averaging, err, want)
	}
	s.Averaging.Kind = "swa"
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "averaging.decay: got 0.5, which only ema has") {
		t.Errorf("swa with a decay: %v", err)
	}
	s.Averaging = AveragingSpec{Kind: "mean", Start: -1}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "averaging.kind") || !strings.Contains(err.Error(), "averaging.start") {
		t.Errorf("an unknown kind: %v", err)
	}
	if o, err := DefaultSpec().Optimizer(); err != nil || !o.Averaging.None() {
		t.Errorf("by default: %+v, %v", o.Averaging, err)
	}
}
