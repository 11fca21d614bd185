package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// adaptBatch is the number of rows in a batch of the data that columns adapt to.
const adaptBatch = 256

// dryRows is the number of rows that a dry run adapts columns to.
const dryRows = 10_000

// columnSource says what columns are adapted to.
type columnSource struct {
	checkpoint string // prefix; empty: model_dir's newest, or the training data
	rows       int64  // of the training data, in a dry run; 0: all
	trains     bool   // whether the model is trained, so that its classes have weights
}

// columnSet makes the columns of a config; their file names start from data_dir. What columns take from data comes from
// a checkpoint or, before training, from the training data. Models that read no columns get none.
func (a *app) columnSet(ctx context.Context, cfg *config.Config, rc runconfig.RunConfig, from columnSource) (*feature.Set, estimator.Option, error) {
	if a.models.Has(cfg.Model.Name) || !slices.Contains(canned.Names(), cfg.Model.Name) {
		return nil, func(*estimator.Estimator) error { return nil }, nil
	}
	specs := slices.Clone(cfg.FeatureColumns)
	for i, c := range specs {
		specs[i].File = cfg.InputPath(c.File)
		if from.rows > 0 {
			specs[i].MinCount = 0 // a few rows need not reach it
		}
	}
	adaptation := a.adaptation(cfg, rc, from.rows)
	adaptation.Checkpoint = from.checkpoint
	return adaptation.Columns(ctx, specs)
}

// adaptation says where a task's columns get what they take from data. Tasks other than the chief wait for the chief; so does an
// evaluator, which the cluster need not list.
func (a *app) adaptation(cfg *config.Config, rc runconfig.RunConfig, rows int64) canned.Adaptation {
	several := rc.ClusterSpec().Len() > 0 || rc.ClusterSpec().Sparse() || rc.TaskType() == runconfig.Evaluator
	return canned.Adaptation{
		ModelDir: cfg.ModelDir, WarmStart: cfg.Model.WarmStart.From, Log: a.log, Identity: fmt.Sprintf("%+v", chosenRows(cfg.Train.Input)),
		Share: several && cfg.ModelDir != looseDir, Follow: !rc.IsChief(),
		Data: func(ctx context.Context) (inputs.Dataset, error) {
			in := cfg.Resolve(cfg.Train.Input)
			if rows > 0 && (in.Take == 0 || in.Take > rows) {
				in.Take = rows
			}
			return a.rowsOnce(ctx, cfg, in, feature.AdaptedKeys(cfg.FeatureColumns))
		},
	}
}

// chosenRows is an input without the keys that affect neither which rows it has nor their content before training starts.
func chosenRows(in inputs.Spec) inputs.Spec {
	in.Shuffle, in.Repeat, in.Epochs, in.DropRemainder = 0, false, 1, false
	in.BatchSize, in.Buckets, in.Augment = adaptBatch, inputs.BucketSpec{}, inputs.AugmentSpec{}
	in.Prefetch, in.Parallelism, in.Shard = 0, 0, "off"
	return in
}

// rowsOnce is the training data, each row once, with only these columns.
func (a *app) rowsOnce(ctx context.Context, cfg *config.Config, in inputs.Spec, columns []string) (inputs.Dataset, error) {
	readers := in.Parallelism
	in = chosenRows(in)
	in.Prefetch, in.Parallelism = 1, readers
	in.Transforms = append(slices.Clone(in.Transforms), inputs.TransformSpec{Kind: "project", Columns: columns})
	switch {
	case a.inputs.Has(in.Format):
		return nil, usage(fmt.Errorf("what a model takes from data needs rows that have an end, and the input_fn %s of train.input may repeat them: write it out, or use a format of files", in.Format))
	case in.Format != "" && !in.Ends():
		return nil, usage(errors.New("what a model takes from data needs rows that have an end, and train.input has none: set its count or take"))
	}
	// Training reads the same rows, and logs the ones that it leaves out.
	j := &job{app: a, cfg: cfg, skipped: skippedRows{"train": {Log: slog.New(slog.DiscardHandler)}}}
	input, err := j.inputRepeated(in, "train", 1)
	if err != nil {
		return nil, err
	}
	return input.Input(ctx, inputs.Context{Mode: models.Train, NumPipelines: 1, ReplicasInSync: 1, Seed: cfg.Seed})
}
