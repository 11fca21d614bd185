package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// adaptBatch is the number of rows that are adapted to at once.
const adaptBatch = 4096

// columnSet makes the columns of a config; file names start from data_dir. What they take from data comes from
// the checkpoint of a prefix, where one is given, from model_dir's or, before training, from the training data.
func (a *app) columnSet(ctx context.Context, cfg *config.Config, rc runconfig.RunConfig, prefix string) (*feature.Set, estimator.Option, error) {
	specs := slices.Clone(cfg.FeatureColumns)
	for i, c := range specs {
		specs[i].File = cfg.InputPath(c.File)
	}
	in := cfg.Resolve(cfg.Train.Input)
	return canned.Adaptation{
		ModelDir: cfg.ModelDir, Checkpoint: prefix, WarmStart: cfg.Model.WarmStart.From, Log: a.log,
		Share: rc.ClusterSpec().Len() > 1 && cfg.ModelDir != looseDir, Follow: !rc.IsChief(), Identity: fmt.Sprint(cfg.Train.Input),
		Data: func(ctx context.Context) (inputs.Dataset, error) { return a.adaptData(ctx, cfg, in) },
	}.Columns(ctx, specs)
}

// adaptData is the training data, each row once.
func (a *app) adaptData(ctx context.Context, cfg *config.Config, in inputs.Spec) (inputs.Dataset, error) {
	in.Shuffle, in.Repeat, in.Epochs, in.DropRemainder = 0, false, 1, false
	in.BatchSize = adaptBatch
	in.Augment = inputs.AugmentSpec{}
	j := &job{app: a, cfg: cfg}
	input, err := j.inputRepeated(in, "train", 1)
	if err != nil {
		return nil, err
	}
	return input.Input(ctx, inputs.Context{Mode: models.Train, NumPipelines: 1, ReplicasInSync: 1, Seed: cfg.Seed})
}
