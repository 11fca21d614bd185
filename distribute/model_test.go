package distribute_test

import (
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const (
	toyBatch   = 12
	toyBatches = 5
	toyClasses = 3
	toyRows    = 20 // of the embedding
	toyWidth   = 64 // of its rows; parameter servers get its gradients by rows, as the table is large
)

// toyData is classes that a small network can learn, the same in every task.
func toyData(t testing.TB, rows int) inputs.Dataset {
	t.Helper()
	var x []float32
	var id []int64
	var y []int32
	for n := range uint32(rows) {
		h := n * 2654435761
		label := int32(h >> 8 % toyRows % toyClasses)
		for j := range uint32(6) {
			x = append(x, float32((h>>(j*3))%97)/97-0.5)
		}
		x[len(x)-1] += float32(label)
		id, y = append(id, int64(h>>8%toyRows), int64(n%7)), append(y, label)
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 6), inputs.Slice("id", inputs.Feature, id, 2), inputs.Slice("y", inputs.Label, y))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// toyLogits is the network of all functions.
func toyLogits(c *distribute.Context) (logits, y *G.Node) {
	x, id := c.Arg("x", tensor.Float32, 6), c.Arg("id", tensor.Int64, 2)
	y = c.Arg("y", tensor.Int32)
	e := layers.Embedding(c, id, toyRows, toyWidth, layers.Weights{})
	x = ops.Concat(c, 1, x, layers.Flatten(c, e))
	x = layers.Dense(c, x, 16, layers.Weights{Activation: ops.Tanh})
	return layers.Dense(c, x, toyClasses, layers.Weights{}), y
}

// toyTrain is a training step with an optimizer.
func toyTrain(o *optimizers.Optimizer) distribute.Build {
	return func(c *distribute.Context) (distribute.Outputs, error) {
		logits, y := toyLogits(c)
		loss := losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: o.Minimize(c, loss), Values: map[string]*G.Node{"logits": logits},
			Metrics: map[string][]*G.Node{"seen": {y, ops.ArgMax(c, logits, 1)}}}, nil
	}
}

// toyEval is an evaluation step.
func toyEval(c *distribute.Context) (distribute.Outputs, error) {
	logits, y := toyLogits(c)
	return distribute.Outputs{Loss: losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{}),
		Values: map[string]*G.Node{"logits": logits, "y": y}, Metrics: map[string][]*G.Node{"accuracy": {y, ops.ArgMax(c, logits, 1)}}}, nil
}

// toy is a strategy with its functions.
type toy struct {
	*distribute.Strategy
	train, eval     *distribute.Function
	seen, accuracy  *distribute.Metric
	data, evaluated *distribute.Input
}

func newToy(s *distribute.Strategy, t testing.TB, rows int, o *optimizers.Optimizer) (*toy, error) {
	y := &toy{Strategy: s}
	var err error
	newAccuracy := func() (metrics.Accumulator, error) { return metrics.New("accuracy") }
	if y.seen, err = s.Metric("seen", newAccuracy); err != nil {
		return nil, err
	}
	if y.accuracy, err = s.Metric("accuracy", newAccuracy); err != nil {
		return nil, err
	}
	if y.train, err = s.Function("train", models.Train, toyTrain(o)); err != nil {
		return nil, err
	}
	if y.eval, err = s.Function("eval", models.Eval, toyEval); err != nil {
		return nil, err
	}
	if y.data, err = s.Distribute(toyData(t, rows), toyBatch, distribute.ShardRows); err != nil {
		return nil, err
	}
	y.evaluated, err = s.Distribute(toyData(t, rows), toyBatch, distribute.ShardRows)
	return y, err
}

// toyLoss is a scalar of one variable and the argument x.
func toyLoss(c *distribute.Context) *G.Node {
	return ops.Mean(c, ops.Square(c, ops.MatMul(c, c.Arg("x", tensor.Float32, 3), c.Variable("w", []int{3, 1}))))
}
