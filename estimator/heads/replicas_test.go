package heads_test

import (
	"context"
	"io"
	"log/slog"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/runconfig"
)

// TestReplicas: a step of two replicas with a batch each equals a step with both batches together, whether
// losses are summed or averaged.
func TestReplicas(t *testing.T) {
	columns := []inputs.NamedTensor{inputs.Slice("logits", inputs.Feature, []float32{1, -2, 0.5, 3, -1, 2}, 1),
		inputs.Slice("y", inputs.Label, []int64{1, 1, 0, 0, 1, 0})}
	for _, reduction := range []losses.Reduction{losses.Sum, losses.SumOverBatchSize} {
		var after [2]float64
		var loss [2]float64
		for i, replicas := range []int{1, 2} {
			rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: replicas}))
			if err != nil {
				t.Fatal(err)
			}
			h := made(heads.BinaryClass(heads.WithLossReduction(reduction)))
			e, err := estimator.New(heads.ModelFn(passThrough, h, sgd(0.1)), estimator.WithRunConfig(rc),
				estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			res, err := e.Train(context.Background(), batchesOf(len(columns[1].Tensor.Bytes)/8/replicas, columns...), estimator.Steps(1))
			if err != nil {
				t.Fatal(err)
			}
			loss[i] = res.Loss
			for p, err := range e.Predict(context.Background(), batchesOf(1, inputs.Slice("logits", inputs.Feature, []float32{1}, 1))) {
				if err != nil {
					t.Fatal(err)
				}
				after[i] = p.Get("logits").Float(0)
			}
		}
		if math.Abs(after[0]-after[1]) > 1e-6 || math.Abs(loss[0]-loss[1]) > 1e-5 || after[0] == 1 {
			t.Errorf("%s: weight %v, loss %v of one and two replicas: expected the same, and a step", reduction, after, loss)
		}
	}
}
