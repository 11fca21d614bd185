package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// measuredModel is the toy model with a metric that is not a number.
func measuredModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	spec, err := toyModel(mc, features, labels)
	if err == nil && mc.Mode() == models.Eval {
		spec.EvalMetrics["table"] = estimator.Metric{New: func() (metrics.Accumulator, error) { return metrics.NewConfusionMatrix(2) }, Args: spec.EvalMetrics["rmse"].Args}
	}
	return spec, err
}

// TestWatchedMetrics: deciding by a metric that evaluations do not have is an error before training.
func TestWatchedMetrics(t *testing.T) {
	best := func(metric string) []estimator.Exporter {
		x, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "top"}, metric, false)
		if err != nil {
			t.Fatal(err)
		}
		return []estimator.Exporter{x}
	}
	watch := func(dir, metric string) []hooks.Hook {
		h, err := hooks.NewStopIfNoImprovement(hooks.Watch{EvalDir: dir, Metric: metric, Every: hooks.Every{Steps: 1}}, 100)
		if err != nil {
			t.Fatal(err)
		}
		return []hooks.Hook{h}
	}
	for name, c := range map[string]struct {
		metric string // of the hook, in the folder of these evaluations or of others
		other  bool
		export string
		want   string // the error; "" for none
	}{
		"known":                     {metric: "rmse"},
		"loss":                      {metric: "loss"},
		"misspelt":                  {metric: "rmsee", want: `early stopping: evaluations have no metric "rmsee" (did you mean rmse?): expected one of loss, rmse`},
		"of other evaluations":      {metric: "rmsee", other: true},
		"exporter":                  {export: "accuracy", want: `exporter top: evaluations have no metric "accuracy": expected one of loss, rmse`},
		"exporter, no number":       {export: "table", want: `exporter top: evaluations have no metric "table": expected one of loss, rmse`},
		"early stopping, no number": {metric: "table", want: `early stopping: evaluations have no metric "table": expected one of loss, rmse`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "model")
			fn := estimator.ModelFunc(measuredModel)
			if c.want == "" {
				fn = toyModel // confusion matrices take classes
			}
			e := custom(t, fn, dir)
			train := estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 2}
			eval := estimator.EvalSpec{Input: &toyData{}}
			if c.metric != "" {
				evalName := ""
				if c.other {
					evalName = "elsewhere"
				}
				train.Hooks = watch(e.EvalDir(evalName), c.metric)
			}
			if c.export != "" {
				eval.Exporters = best(c.export)
			}
			_, err := estimator.TrainAndEvaluate(context.Background(), e, train, eval)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var unknown *estimator.UnknownMetricError
			if !errors.As(err, &unknown) || err.Error() != c.want || !slices.Equal(unknown.Known, []string{"loss", "rmse"}) {
				t.Errorf("got %v, expected %s", err, c.want)
			}
			if code := estimator.ExitCode(err); code != estimator.ExitMistake {
				t.Errorf("exit code: got %d, expected %d", code, estimator.ExitMistake)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("model_dir was made: %v", err)
			}
		})
	}
}

// TestClusterWatchedMetrics: tasks that leave evaluation to another task continue if they
// cannot build its graph. Workers do not check; tasks that evaluate do.
func TestClusterWatchedMetrics(t *testing.T) {
	ring := runconfig.Strategy{Name: "multi_worker_mirrored"}
	broken := errors.New("no such file")
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("together=%v", together), func(t *testing.T) {
			var looks [2]atomic.Int64
			res := trainCluster(t, t.TempDir(), 2, 0, ring, func(rank int, m *member) {
				whole := m.fn
				m.fn = estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
					if mc.Mode() == models.Eval {
						looks[rank].Add(1)
						return nil, broken
					}
					return whole.Model(mc, features, labels)
				})
				if together {
					m.run = append(m.run, runconfig.EvalDistribute(ring))
				}
				best, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "top"}, "loss", false)
				if err != nil {
					t.Fatal(err)
				}
				m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
					res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: m.input, MaxSteps: 3},
						estimator.EvalSpec{Input: estimator.InputFunc(equalData), Exporters: []estimator.Exporter{best}})
					return res.TrainResult, err
				}
			})
			for rank, r := range res {
				n := looks[rank].Load()
				switch {
				case together && (!errors.Is(r.err, broken) || n == 0):
					t.Errorf("%s: got %v after %d looks, expected %v", r.task, r.err, n, broken)
				case !together && (r.err != nil || r.GlobalStep != 3 || (n > 0) != (rank == 0)):
					t.Errorf("%s: got %+v after %d looks at the evaluation's graph", r.task, r, n)
				}
			}
		})
	}
}
