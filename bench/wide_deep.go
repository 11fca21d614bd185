package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/runconfig"
)

// The subject wide_deep trains a wide and deep model on raw rows of the Adult
// census data, feature columns included.
const (
	adultFile  = "../shared/data/adult/adult.data.gz"
	adultRows  = 8192
	adultBatch = 128
)

// wideDeepColumns are the columns of configs/adult_wide_deep.yaml, with vocabularies
// replaced by hashes.
var wideDeepColumns = []feature.Spec{
	scaled("age", 38.58, 13.64), scaled("education_num", 10.08, 2.57), scaled("capital_gain", 1077.6, 7385.2),
	scaled("capital_loss", 87.3, 402.9), scaled("hours_per_week", 40.44, 12.35),
	number("age"), bucketed("age", 18, 25, 30, 35, 40, 45, 50, 55, 60, 65),
	number("hours_per_week"), bucketed("hours_per_week", 20, 30, 38, 43, 50, 60),
	number("capital_gain"), bucketed("capital_gain", 1, 3000, 5000, 7000, 10000),
	number("capital_loss"), bucketed("capital_loss", 1, 1500, 1800, 2000, 2300),
	number("education_num"), bucketed("education_num", 5, 8, 9, 10, 11, 12, 13, 14, 15),
	hashed("workclass", 20), hashed("marital_status", 20), hashed("relationship", 20), hashed("race", 10), hashed("sex", 4),
	hashed("occupation", 100), hashed("native_country", 200),
	{Name: "education_x_occupation", Type: "crossed", Buckets: 1000, Keys: []feature.CrossPart{{Key: "education"}, {Key: "occupation"}}},
	{Name: "age_x_education", Type: "crossed", Buckets: 1000, Keys: []feature.CrossPart{{Column: "age_buckets"}, {Key: "education"}}},
	{Name: "marital_x_hours", Type: "crossed", Buckets: 500, Keys: []feature.CrossPart{{Key: "marital_status"}, {Column: "hours_per_week_buckets"}}},
	present("workclass"), present("marital_status"), present("relationship"), present("race"), present("sex"),
	{Name: "occupation_vector", Type: "embedding", Of: "occupation", Dimension: 8},
	{Name: "country_vector", Type: "embedding", Of: "native_country", Dimension: 8},
}

func scaled(key string, mean, std float64) feature.Spec {
	return feature.Spec{Name: key, Type: "numeric", Key: key, Normalize: feature.NormalizeSpec{Mean: []float64{mean}, Std: []float64{std}}}
}

func number(key string) feature.Spec {
	return feature.Spec{Name: "raw_" + key, Type: "numeric", Key: key}
}

func bucketed(key string, boundaries ...float64) feature.Spec {
	return feature.Spec{Name: key + "_buckets", Type: "bucketized", Of: "raw_" + key, Boundaries: boundaries}
}

func hashed(key string, n int) feature.Spec {
	return feature.Spec{Name: key, Type: "hash_bucket", Key: key, Buckets: n}
}

func present(of string) feature.Spec {
	return feature.Spec{Name: of + "_present", Type: "indicator", Of: of}
}

// wideDeepParams are tf.estimator's arguments; only columns and layers differ from the defaults.
var wideDeepParams = estimator.Params{
	"linear_feature_columns": []string{"age_buckets", "hours_per_week_buckets", "capital_gain_buckets", "capital_loss_buckets", "education_num_buckets",
		"workclass", "marital_status", "relationship", "race", "sex", "occupation", "native_country", "education_x_occupation", "age_x_education", "marital_x_hours"},
	"dnn_feature_columns": []string{"age", "education_num", "capital_gain", "capital_loss", "hours_per_week", "workclass_present", "marital_status_present",
		"relationship_present", "race_present", "sex_present", "occupation_vector", "country_vector"},
	"dnn_hidden_units": []int{100, 50},
}

func wideDeepModel() (estimator.ModelFn, error) {
	set, err := feature.Build(wideDeepColumns)
	if err != nil {
		return nil, err
	}
	return canned.Named("dnn_linear_combined_classifier", wideDeepParams, set)
}

// adultInput is the first rows of the file, in memory.
func adultInput() estimator.InputFn {
	columns := []inputs.ColumnSpec{{Name: "age"}, {Name: "workclass", DType: "string"}, {Name: "fnlwgt", Role: "ignore"}, {Name: "education", DType: "string"},
		{Name: "education_num"}, {Name: "marital_status", DType: "string"}, {Name: "occupation", DType: "string"}, {Name: "relationship", DType: "string"},
		{Name: "race", DType: "string"}, {Name: "sex", DType: "string"}, {Name: "capital_gain"}, {Name: "capital_loss"}, {Name: "hours_per_week"},
		{Name: "native_country", DType: "string"}, {Name: "income", Role: "label", Vocabulary: []string{"<=50K", ">50K"}}}
	spec := inputs.Spec{Format: "csv", Files: []string{adultFile}, Columns: columns, Take: adultRows, BatchSize: adultRows}
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Open(ctx, spec, inputs.Context{})
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Cache(), inputs.Repeat(0), inputs.Batch(adultBatch, true), inputs.Prefetch(2)), nil
	})
}

// wideDeepField compares the training with tf.estimator's, from the same
// checkpoint. TensorFlow's losses are the reference: the subject checks that the
// models are equal.
func wideDeepField(ctx context.Context, s settings, dir string) (field, error) {
	w := workload{model: wideDeepModel}
	start := filepath.Join(dir, "start")
	saving, err := runconfig.New(runconfig.SaveCheckpointsSteps(1))
	if err != nil {
		return field{}, err
	}
	e, err := w.estimator(estimator.WithModelDir(start), estimator.WithRunConfig(saving))
	if err != nil {
		return field{}, err
	}
	if _, err := e.Train(ctx, adultInput(), estimator.MaxSteps(1)); err != nil { // this also writes a checkpoint of step 0
		return field{}, err
	}
	text, err := json.Marshal(map[string]any{"columns": wideDeepColumns, "params": wideDeepParams, "rows": adultRows, "batch": adultBatch, "file": adultFile})
	if err != nil {
		return field{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "case.json"), text, 0o644); err != nil {
		return field{}, err
	}
	argv, err := self("wide_deep", dir)
	check := s.peer("reference", "tf_wide_deep.py", dir)
	return field{contenders: []contender{{name: ours, argv: argv}, s.peer("tf.estimator", "tf_wide_deep.py", dir)}, check: &check, tolerance: 1e-4}, err
}

// wideDeepWorker trains from the checkpoint in DIR.
func wideDeepWorker(l *link, args []string) error {
	model, err := os.MkdirTemp("", "bench-model-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(model)
	e, err := workload{model: wideDeepModel}.estimator(estimator.WithModelDir(model),
		estimator.WithWarmStart(estimator.WarmStart{From: filepath.Join(args[0], "start", "model.ckpt-0")}))
	if err != nil {
		return err
	}
	_, err = e.Train(context.Background(), adultInput(), estimator.WithHooks(&pacer{link: l, checked: checkedSteps}))
	return err
}
