package estimator

import (
	"context"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// Shards returns where the variables of training, including optimizer state, are placed by
// the strategy in the cluster of the RunConfig, sorted by name. It builds the model for the
// data of an input_fn, but reads no data, makes no variables and calls no other task.
func (e *Estimator) Shards(ctx context.Context, input InputFn) (list []models.VariableShards, err error) {
	ds, err := e.openInput(ctx, input, models.Train)
	if err != nil {
		return nil, err
	}
	p, err := e.startProgram(models.Train, ds.Schema())
	if err != nil {
		return nil, err
	}
	s := &session{est: e, program: p}
	return distribute.PlannedShards(e.strategy, e.config, s.declare, p.training(distribute.Program{Graph: p.graph}))
}
