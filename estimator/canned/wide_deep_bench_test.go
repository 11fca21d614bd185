package canned_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
)

// clocked is a hook that times b.N steps after the first ones.
type clocked struct {
	hooks.Base
	b    *testing.B
	done int
}

const warmSteps = 200

func (c *clocked) AfterRun(_ context.Context, r hooks.Run) error {
	switch c.done++; c.done {
	case warmSteps:
		runtime.GC()
		c.b.ReportAllocs()
		c.b.ResetTimer()
	case warmSteps + c.b.N:
		c.b.StopTimer()
		r.RequestStop("the benchmark is done")
	}
	return nil
}

// BenchmarkWideDeepStep trains the wide and deep model of the Adult data on raw
// rows in memory, batch 128: one step with all its overhead.
func BenchmarkWideDeepStep(b *testing.B) {
	e, in := wideDeep(b)
	if _, err := e.Train(b.Context(), in, estimator.WithHooks(&clocked{b: b})); err != nil {
		b.Fatal(err)
	}
}

// wideDeep is the model of 15 linear and 12 deep columns, and an endless input.
func wideDeep(tb testing.TB) (*estimator.Estimator, estimator.InputFn) {
	file := testkit.Shared(tb, "data/adult/adult.data.gz")
	set, err := feature.Build(adultColumns)
	if err != nil {
		tb.Fatal(err)
	}
	model, err := canned.Named("dnn_linear_combined_classifier", estimator.Params{
		"linear_feature_columns": []string{"age_buckets", "hours_per_week_buckets", "capital_gain_buckets", "capital_loss_buckets", "education_num_buckets",
			"workclass", "marital_status", "relationship", "race", "sex", "occupation", "native_country", "education_x_occupation", "age_x_education", "marital_x_hours"},
		"dnn_feature_columns": []string{"age", "education_num", "capital_gain", "capital_loss", "hours_per_week", "workclass_present", "marital_status_present",
			"relationship_present", "race_present", "sex_present", "occupation_vector", "country_vector"},
		"dnn_hidden_units": []int{100, 50},
	}, set)
	if err != nil {
		tb.Fatal(err)
	}
	config, err := runconfig.New(runconfig.SaveCheckpointsSteps(0), runconfig.SaveSummarySteps(0), runconfig.LogStepCountSteps(0), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: 2}), runconfig.TFRandomSeed(7))
	if err != nil {
		tb.Fatal(err)
	}
	e, err := estimator.New(model, estimator.WithModelDir(tb.TempDir()), estimator.WithRunConfig(config), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		tb.Fatal(err)
	}
	return e, estimator.InputFunc(func(ctx context.Context, _ inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Open(ctx, inputs.Spec{Format: "csv", Files: []string{file}, Columns: adultInputs, Take: 8192, BatchSize: 8192}, inputs.Context{})
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Cache(), inputs.Repeat(0), inputs.Batch(128, true), inputs.Prefetch(2)), nil
	})
}

var adultInputs = []inputs.ColumnSpec{{Name: "age"}, {Name: "workclass", DType: "string"}, {Name: "fnlwgt", Role: "ignore"}, {Name: "education", DType: "string"},
	{Name: "education_num"}, {Name: "marital_status", DType: "string"}, {Name: "occupation", DType: "string"}, {Name: "relationship", DType: "string"},
	{Name: "race", DType: "string"}, {Name: "sex", DType: "string"}, {Name: "capital_gain"}, {Name: "capital_loss"}, {Name: "hours_per_week"},
	{Name: "native_country", DType: "string"}, {Name: "income", Role: "label", Vocabulary: []string{"<=50K", ">50K"}}}

var adultColumns = []feature.Spec{
	standardised("age", 38.58, 13.64), standardised("education_num", 10.08, 2.57), standardised("capital_gain", 1077.6, 7385.2),
	standardised("capital_loss", 87.3, 402.9), standardised("hours_per_week", 40.44, 12.35),
	plain("age"), bucketed("age", 18, 25, 30, 35, 40, 45, 50, 55, 60, 65),
	plain("hours_per_week"), bucketed("hours_per_week", 20, 30, 38, 43, 50, 60),
	plain("capital_gain"), bucketed("capital_gain", 1, 3000, 5000, 7000, 10000),
	plain("capital_loss"), bucketed("capital_loss", 1, 1500, 1800, 2000, 2300),
	plain("education_num"), bucketed("education_num", 5, 8, 9, 10, 11, 12, 13, 14, 15),
	hashed("workclass", 20), hashed("marital_status", 20), hashed("relationship", 20), hashed("race", 10), hashed("sex", 4),
	hashed("occupation", 100), hashed("native_country", 200),
	{Name: "education_x_occupation", Type: "crossed", Buckets: 1000, Keys: []feature.CrossPart{{Key: "education"}, {Key: "occupation"}}},
	{Name: "age_x_education", Type: "crossed", Buckets: 1000, Keys: []feature.CrossPart{{Column: "age_buckets"}, {Key: "education"}}},
	{Name: "marital_x_hours", Type: "crossed", Buckets: 500, Keys: []feature.CrossPart{{Key: "marital_status"}, {Column: "hours_per_week_buckets"}}},
	present("workclass"), present("marital_status"), present("relationship"), present("race"), present("sex"),
	{Name: "occupation_vector", Type: "embedding", Of: "occupation", Dimension: 8},
	{Name: "country_vector", Type: "embedding", Of: "native_country", Dimension: 8},
}

func standardised(key string, mean, std float64) feature.Spec {
	return feature.Spec{Name: key, Type: "numeric", Key: key, Normalize: feature.NormalizeSpec{Mean: []float64{mean}, Std: []float64{std}}}
}

func plain(key string) feature.Spec {
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
