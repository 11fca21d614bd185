package estimator_test

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

func glyphs(batch, count int) estimator.InputFn {
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: int64(count), Shuffle: 1000, Repeat: ic.Mode == inputs.Train, BatchSize: batch, Prefetch: 2}, ic)
	})
}

func glyphModel(t *testing.T, network string, params map[string]any) estimator.ModelFn {
	t.Helper()
	net, err := networks.New(network, params)
	if err != nil {
		t.Fatal(err)
	}
	head := heads.MultiClass(10)
	opt, err := optimizers.New("adam", map[string]any{"learning_rate": 0.001})
	if err != nil {
		t.Fatal(err)
	}
	return heads.ModelFn(net, head, opt)
}

func newEstimator(t *testing.T, fn estimator.ModelFn, dir string, opts ...runconfig.Option) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", append([]runconfig.Option{runconfig.ModelDir(dir), runconfig.TFRandomSeed(7), runconfig.SaveCheckpointsSteps(20)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fn, estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestTrainLearnsGlyphs(t *testing.T) {
	ctx := context.Background()
	e := newEstimator(t, glyphModel(t, "mlp", map[string]any{"hidden_units": []any{128}}), t.TempDir())
	res, err := e.Train(ctx, glyphs(64, 0), estimator.MaxSteps(150))
	if err != nil {
		t.Fatal(err)
	}
	if res.GlobalStep != 150 || res.StopReason != estimator.StopMaxSteps {
		t.Errorf("got %+v, expected 150 steps for max_steps", res)
	}
	m, err := e.Evaluate(ctx, glyphs(64, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if acc, ok := m.Scalar("accuracy"); !ok || acc < 0.8 {
		t.Errorf("accuracy %v after 150 steps, expected >= 0.8: %v", acc, m.Metrics)
	}
	n := 0
	for p, err := range e.Predict(ctx, glyphs(64, 10)) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Get("probabilities").Shape) != 1 || p.Get("probabilities").Shape[0] != 10 {
			t.Errorf("probabilities of shape %v, expected [10]", p.Get("probabilities").Shape)
		}
		n++
	}
	if n != 10 {
		t.Errorf("got %d predictions, expected 10", n)
	}
}
