package cli

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
)

// cannedModel makes the canned model that a config names.
func cannedModel(cfg *config.Config) (estimator.ModelFn, error) {
	if !reflect.DeepEqual(cfg.Optimizer, config.Default().Optimizer) {
		return nil, fmt.Errorf("optimizer: model %s has its optimizers among its parameters: set model.params.optimizer (dnn_optimizer and linear_optimizer of combined models)", cfg.Model.Name)
	}
	set, err := columnSet(cfg)
	if err != nil {
		return nil, fmt.Errorf("feature_columns: %w", err)
	}
	params, err := modelParams(cfg)
	if err != nil {
		return nil, fmt.Errorf("model.params.%w", err)
	}
	fn, err := canned.Named(cfg.Model.Name, params, set)
	if err != nil {
		return nil, within("model.params: ", err)
	}
	return fn, nil
}

// columnSet makes the columns of a config; file names start from data_dir.
func columnSet(cfg *config.Config) (*feature.Set, error) {
	specs := make([]feature.Spec, len(cfg.FeatureColumns))
	for i, c := range cfg.FeatureColumns {
		if c.HashKey < 0 {
			return nil, errors.New("hash_key: expected >= 0")
		}
		specs[i] = columnSpec(c)
		specs[i].File = cfg.InputPath(c.File)
	}
	return feature.Build(specs)
}

// columnSpec translates an entry of the config.
func columnSpec(c config.FeatureColumn) feature.Spec {
	s := feature.Spec{
		Name: c.Name, Type: c.Type, Key: c.Key, Of: c.Of,
		DType: c.DType, Shape: c.Shape, Default: c.Default, Defaults: c.Defaults, Sequence: c.Sequence, AllowNaN: c.AllowNaN,
		Normalize:  feature.NormalizeSpec{Scale: c.Normalize.Scale, Log: c.Normalize.Log, Mean: c.Normalize.Mean, Std: c.Normalize.Std},
		Boundaries: c.Boundaries, Buckets: c.Buckets, Vocabulary: c.Vocabulary, File: c.File, Size: c.Size, OOVBuckets: c.OOVBuckets,
		HashKey: uint64(c.HashKey), WeightKey: c.WeightKey,
		Columns: c.Columns, Dimension: c.Dimension, Combiner: c.Combiner, Stddev: c.Stddev, MaxNorm: c.MaxNorm,
		Frozen: c.Frozen, Checkpoint: c.Checkpoint, Tensor: c.Tensor, Table: c.Table,
	}
	for _, k := range c.Keys {
		s.Keys = append(s.Keys, feature.PartOf{Key: k.Key, Column: k.Column})
	}
	return s
}
