package estimator

import (
	"errors"
	"slices"

	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
)

// WithTrainedWeights evaluates, predicts and exports with the trained weights even if the optimizer keeps averages of
// them (optimizers.Averaging). Without it the averages are used.
func WithTrainedWeights() Option {
	return func(e *Estimator) error {
		e.trainedWeights = true
		return nil
	}
}

// averages maps variables to the names of their averages in a session that trains, nil if averages are not used.
func (e *Estimator) averages(s *session) map[string]string {
	if e.trainedWeights {
		return nil
	}
	return update.Averages(s.program.spec.TrainOp)
}

// takeAverages exports the checkpoint's average of a variable, if there is one, in place of the variable.
func (x *exporting) takeAverages(p *program) error {
	if x.est.trainedWeights {
		return nil
	}
	a, err := saved.OpenAverages(x.reader)
	if err != nil || a.None() {
		return err
	}
	if slices.Contains(x.options.modes, models.Train) {
		return errors.New("the checkpoint has averages of the weights, and a graph that goes on training needs the weights as they were trained: leave the mode train out, or the averages (WithTrainedWeights, model.averages: false)")
	}
	for _, v := range p.variables {
		if name := a.Name(v.Name); name != v.Name {
			x.stored[v.Name] = name
		}
	}
	return nil
}
