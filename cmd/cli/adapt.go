package cli

import (
	"context"
	"errors"
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
	from := a.adaptation(cfg, rc)
	from.Checkpoint = prefix
	return from.Columns(ctx, specs)
}

// adaptation says where a task's columns have from what they take from data. Whoever is not the chief waits for it, an evaluator too,
// which the cluster need not list.
func (a *app) adaptation(cfg *config.Config, rc runconfig.RunConfig) canned.Adaptation {
	several := rc.ClusterSpec().Len() > 0 || rc.ClusterSpec().Sparse() || rc.TaskType() == runconfig.Evaluator
	return canned.Adaptation{
		ModelDir: cfg.ModelDir, WarmStart: cfg.Model.WarmStart.From, Log: a.log, Identity: fmt.Sprintf("%+v", chosenRows(cfg.Train.Input)),
		Share: several && cfg.ModelDir != looseDir, Follow: !rc.IsChief(),
		Data: func(ctx context.Context) (inputs.Dataset, error) {
			return a.adaptData(ctx, cfg, cfg.Resolve(cfg.Train.Input))
		},
	}
}

// chosenRows is an input without the keys that change neither its rows nor what is in them before training starts.
func chosenRows(in inputs.Spec) inputs.Spec {
	in.Shuffle, in.Repeat, in.Epochs, in.DropRemainder = 0, false, 1, false
	in.BatchSize, in.Buckets, in.Augment = adaptBatch, inputs.BucketSpec{}, inputs.AugmentSpec{}
	in.Prefetch, in.Parallelism, in.Shard = 0, 0, "off"
	return in
}

// adaptData is the training data, each row once.
func (a *app) adaptData(ctx context.Context, cfg *config.Config, in inputs.Spec) (inputs.Dataset, error) {
	readers := in.Parallelism
	in = chosenRows(in)
	in.Prefetch, in.Parallelism = 1, readers
	switch {
	case a.inputs.Has(in.Format):
		return nil, usage(fmt.Errorf("columns are adapted to rows that have an end, and the input_fn %s of train.input may repeat them: write out what the columns take from data, or use a format of files", in.Format))
	case in.Format != "" && !in.Ends():
		return nil, usage(errors.New("columns are adapted to rows that have an end, and train.input has none: set its count or take"))
	}
	j := &job{app: a, cfg: cfg}
	input, err := j.inputRepeated(in, "train", 1)
	if err != nil {
		return nil, err
	}
	return input.Input(ctx, inputs.Context{Mode: models.Train, NumPipelines: 1, ReplicasInSync: 1, Seed: cfg.Seed})
}
