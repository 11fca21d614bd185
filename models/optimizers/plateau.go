package optimizers

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models/expr"
)

// PlateauInput is the input of a ReduceOnPlateau schedule: its rate as a fraction of the initial rate.
const PlateauInput = "plateau"

// ReduceOnPlateau is a rate that falls when a metric of evaluations stops improving, as in tf.keras.callbacks.ReduceLROnPlateau with
// evaluations for epochs. In training by one process, an Estimator changes it after each evaluation of TrainAndEvaluate or of an
// InMemoryEvaluator. Its state is in checkpoints. An optimizer may have only one, alone or composed with other schedules.
type ReduceOnPlateau struct {
	Initial        float64
	Metric         string  // of evaluations; "" is "loss"
	HigherIsBetter bool    // of the metric
	Factor         float64 // of a reduction, > 0 and < 1; 0 is 0.1
	Patience       int     // evaluations without improvement before a reduction, >= 1; 0 is 10
	MinDelta       float64 // the least change that counts as an improvement, >= 0
	Cooldown       int     // evaluations after a reduction that do not count
	MinRate        float64 // the rate does not fall below it
}

// At returns the rate.
func (s ReduceOnPlateau) At(expr.Expr) expr.Expr {
	return expr.Number(s.Initial).Mul(expr.Input(PlateauInput))
}

// PlateauOf returns the ReduceOnPlateau that a schedule is or contains, false for none. Two are an error.
func PlateauOf(s Schedule) (p ReduceOnPlateau, found bool, err error) {
	for _, part := range parts(s) {
		inner, ok, err := PlateauOf(part)
		if ok && found && inner != p {
			err = errors.New("learning rate: two schedules wait for a plateau: expected one")
		}
		if err != nil {
			return p, true, err
		}
		if ok {
			p, found = inner, true
		}
	}
	if own, ok := s.(ReduceOnPlateau); ok {
		return own, true, nil
	}
	return p, found, nil
}

// parts returns the schedules that a composed schedule contains.
func parts(s Schedule) []Schedule {
	switch s := s.(type) {
	case Warmup:
		return []Schedule{s.Then}
	case Sequence:
		return s.Schedules
	case Scaled:
		return []Schedule{s.Schedule, s.By}
	}
	return nil
}

// Plateau returns the ReduceOnPlateau of the train op's groups, false for none. Two that differ are an error.
func (t *TrainOp) Plateau() (p ReduceOnPlateau, found bool, err error) {
	for i, g := range t.Groups {
		own, ok, err := PlateauOf(g.LearningRate)
		if ok && found && own != p {
			err = fmt.Errorf("train op: group %d: two schedules wait for a plateau: expected one", i)
		}
		if err != nil {
			return p, true, err
		}
		if ok {
			p, found = own, true
		}
	}
	return p, found, nil
}

// readPlateau reads a ReduceOnPlateau.
func readPlateau(p *params.Reader) Schedule {
	s := ReduceOnPlateau{Initial: initial(p), Metric: p.String("metric", "loss"), HigherIsBetter: p.Bool("higher_is_better", false),
		Factor: bounded(p, "factor", 0.1), Patience: p.Int("patience", 10, 1), MinDelta: bounded(p, "min_delta", 1e-4),
		Cooldown: p.Int("cooldown", 0, 0), MinRate: bounded(p, "min_lr", 0)}
	return s
}
