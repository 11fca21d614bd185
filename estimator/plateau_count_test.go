package estimator

import (
	"log/slog"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// TestPlateauOfKeras compares the rate after each evaluation with tf.keras.callbacks.ReduceLROnPlateau of Keras 2.15.
func TestPlateauOfKeras(t *testing.T) {
	values := []float64{1, 0.9, 0.8, 0.8, 0.7999, 0.8, 0.85, 0.9, 0.5, 0.6, math.NaN(), 0.6, 0.6, 0.4999, 0.6, 0.6, 0.6, 0.6, 0.6, 0.2}
	for _, c := range []struct {
		schedule optimizers.ReduceOnPlateau
		want     []float64
	}{
		{optimizers.ReduceOnPlateau{Initial: 1, Factor: 0.5, Patience: 2, MinDelta: 0.001},
			[]float64{1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.03125, 0.03125, 0.015625, 0.015625, 0.0078125, 0.0078125}},
		{optimizers.ReduceOnPlateau{Initial: 1, Factor: 0.1, Patience: 1, Cooldown: 3, MinRate: 0.02},
			[]float64{1, 1, 1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02}},
		{optimizers.ReduceOnPlateau{Initial: 1, Factor: 0.25, Patience: 3, MinDelta: 0.0001, Cooldown: 1, HigherIsBetter: true},
			[]float64{1, 1, 1, 0.25, 0.25, 0.25, 0.0625, 0.0625, 0.0625, 0.015625, 0.015625, 0.015625, 0.00390625, 0.00390625, 0.00390625, 0.0009765625, 0.0009765625,
				0.0009765625, 0.000244140625, 0.000244140625}},
	} {
		for _, again := range []bool{false, true} { // true: a run for each evaluation
			h := counting(t, c.schedule)
			for i, v := range values {
				if again {
					state, err := h.MarshalBinary()
					if err != nil {
						t.Fatal(err)
					}
					h.state = plateauState{}
					if err := h.UnmarshalBinary(state); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 { // the same evaluation, repeated, counts once
					if err := h.count(int64(10*i), v); err != nil {
						t.Fatal(err)
					}
				}
				share, err := h.session.strategy.Variables().Get(update.PlateauShare)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.schedule.Initial * share.Float(0); math.Abs(got-c.want[i]) > 1e-7 {
					t.Errorf("%+v, evaluation %d: got the rate %v, expected %v", c.schedule, i, got, c.want[i])
				}
			}
		}
	}
}

// counting is a hook on a variable.
func counting(t *testing.T, p optimizers.ReduceOnPlateau) *plateau {
	t.Helper()
	s, err := distribute.New(distribute.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Variables().Create(update.PlateauShare, graph.TypeOf(tensor.Float64), distribute.Whole(tensor.Scalar(1.0))); err != nil {
		t.Fatal(err)
	}
	e := &Estimator{}
	e.log = slog.New(slog.DiscardHandler)
	return &plateau{schedule: p, session: &session{est: e, strategy: s}, state: plateauState{Share: 1, Seen: -1}}
}
