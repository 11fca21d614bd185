package losses_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	G "gorgonia.org/gorgonia"
)

var near = cmpopts.EquateApprox(1e-10, 1e-10)

type loss = func(c models.Context, labels, predictions *G.Node, o losses.Options) *G.Node

// lossCase is one loss on two rows of labels and predictions.
type lossCase struct {
	name           string
	loss           loss
	labels, values []float64 // values has two columns; labels have two or, if sparse, one
	sparse         bool
	want           []float64 // unreduced
}

func logSoftmax(a, b float64) (x, y float64) {
	z := math.Log(math.Exp(a) + math.Exp(b))
	return a - z, b - z
}

func cases() []lossCase {
	l0, _ := logSoftmax(1, 2)
	_, l1 := logSoftmax(3, -1)
	m0, m1 := logSoftmax(3, -1)
	sig := func(x, z float64) float64 {
		p := 1 / (1 + math.Exp(-x))
		return -z*math.Log(p) - (1-z)*math.Log(1-p)
	}
	log := func(p, z float64) float64 { return -z*math.Log(p+1e-7) - (1-z)*math.Log(1-p+1e-7) }
	x := []float64{1, 2, 3, -1}
	bits := []float64{1, 0, 0, 1}
	return []lossCase{
		{"sparse softmax", losses.SparseSoftmaxCrossEntropy, []float64{0, 1}, x, true, []float64{-l0, -l1}},
		{"softmax", losses.SoftmaxCrossEntropy, []float64{1, 0, 0.25, 0.75}, x, false, []float64{-l0, -0.25*m0 - 0.75*m1}},
		{"sigmoid", losses.SigmoidCrossEntropy, bits, x, false, []float64{sig(1, 1), sig(2, 0), sig(3, 0), sig(-1, 1)}},
		{"hinge", losses.Hinge, bits, []float64{0.5, 2, -3, -1}, false, []float64{0.5, 3, 0, 2}},
		{"log", losses.LogLoss, bits, []float64{0.9, 0.2, 0.5, 0.3}, false, []float64{log(0.9, 1), log(0.2, 0), log(0.5, 0), log(0.3, 1)}},
		{"squared", losses.MeanSquaredError, bits, x, false, []float64{0, 4, 9, 4}},
		{"absolute", losses.MeanAbsoluteError, bits, x, false, []float64{0, 2, 3, 2}},
		{"huber", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node { return losses.Huber(c, l, p, 1.5, o) },
			bits, []float64{0, 2, 3, -0.5}, false, []float64{0.5, 1.5*2 - 1.125, 1.5*3 - 1.125, 1.125}},
		{"quantile", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
			return losses.Quantile(c, l, p, 0.9, o)
		},
			[]float64{1, 0, 5, 1}, x, false, []float64{0, 0.1 * 2, 0.9 * 2, 0.9 * 2}},
		{"poisson", losses.Poisson, bits, []float64{2, 1, 3, 0.5}, false, []float64{2 - math.Log(2+1e-7), 1, 3, 0.5 - math.Log(0.5+1e-7)}},
		{"log poisson", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
			return losses.LogPoisson(c, l, p, false, o)
		},
			bits, x, false, []float64{math.E - 1, math.Exp(2), math.Exp(3), math.Exp(-1) + 1}},
		{"full log poisson", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
			return losses.LogPoisson(c, l, p, true, o)
		},
			[]float64{1, 0, 2, 5}, x, false, []float64{math.E - 1, math.Exp(2),
				math.Exp(3) - 6 + 2*math.Log(2) - 2 + math.Log(4*math.Pi)/2,
				math.Exp(-1) + 5 + 5*math.Log(5) - 5 + math.Log(10*math.Pi)/2}},
		{"cosine", losses.CosineDistance, []float64{1, 0, 0, 1}, []float64{0.6, 0.8, 0.6, -0.8}, false, []float64{0.4, 1.8}},
	}
}

// value runs a loss; weights, per row, may be nil.
func (k lossCase) value(t *testing.T, r losses.Reduction, weights []float64) []float64 {
	t.Helper()
	p := modeltest.New(t, models.Options{Mode: models.Train, DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
		o := losses.Options{Reduction: r}
		y := b.Input("predictions", tensor.Float64, b.Batch(), 2)
		var labels *G.Node
		if k.sparse {
			labels = b.Input("labels", tensor.Int64, b.Batch(), 1)
		} else {
			labels = b.Input("labels", tensor.Float32, b.Batch(), 2)
		}
		if weights != nil {
			o.Weights = b.Input("weights", tensor.Float32, b.Batch())
		}
		return []*G.Node{k.loss(b, labels, y, o)}
	})
	feeds := []*tensor.Tensor{modeltest.Tensor(tensor.Float64, k.values, 2, 2), modeltest.Tensor(tensor.Float32, k.labels, 2, len(k.labels)/2)}
	if k.sparse {
		feeds[1] = modeltest.Tensor(tensor.Int64, k.labels, 2, 1)
	}
	if weights != nil {
		feeds = append(feeds, modeltest.Tensor(tensor.Float32, weights, 2))
	}
	return modeltest.Floats(p.Host(t, 2, feeds...)[0])
}

func sum(v []float64) float64 {
	s := 0.0
	for _, e := range v {
		s += e
	}
	return s
}

// TestLosses compares every loss, weight and reduction with TensorFlow's definitions.
func TestLosses(t *testing.T) {
	weights := []float64{0.5, 0}
	for _, k := range cases() {
		t.Run(k.name, func(t *testing.T) {
			n := len(k.want)
			weighted, total, nonzero := make([]float64, n), 0.0, 0.0
			for i, v := range k.want {
				w := weights[i*2/n]
				weighted[i], total = v*w, total+w
				if w != 0 {
					nonzero++
				}
			}
			s, m := sum(k.want), float64(n)
			ws := sum(weighted)
			for _, c := range []struct {
				r        losses.Reduction
				weights  []float64
				expected []float64
			}{
				{losses.None, nil, k.want}, {losses.Sum, nil, []float64{s}}, {losses.Mean, nil, []float64{s / m}},
				{"", nil, []float64{s / m}}, {losses.SumOverBatchSize, nil, []float64{s / m}},
				{losses.None, weights, weighted}, {losses.Sum, weights, []float64{ws}}, {losses.Mean, weights, []float64{ws / total}},
				{"", weights, []float64{ws / nonzero}}, {losses.SumOverBatchSize, weights, []float64{ws / m}},
				{"sum", nil, []float64{s}}, {"none", weights, weighted}, {"mean", weights, []float64{ws / total}},
				{losses.Mean, []float64{0, 0}, []float64{0}}, {losses.SumByNonzeroWeights, []float64{0, 0}, []float64{0}},
			} {
				if d := cmp.Diff(c.expected, k.value(t, c.r, c.weights), near); d != "" {
					t.Errorf("reduction %q, weights %v: %s", c.r, c.weights, d)
				}
			}
		})
	}
}

func TestSmoothLabels(t *testing.T) {
	for _, kind := range []tensor.DType{tensor.Float64, tensor.Int64} {
		p := modeltest.New(t, models.Options{DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
			return []*G.Node{losses.SmoothLabels(b, b.Input("labels", kind, b.Batch(), 4), 0.2)}
		})
		got := modeltest.Floats(p.Host(t, 1, modeltest.Tensor(kind, []float64{0, 1, 0, 0}, 1, 4))[0])
		if d := cmp.Diff([]float64{0.05, 0.85, 0.05, 0.05}, got, near); d != "" {
			t.Errorf("%v labels: %s", kind, d)
		}
	}
}

func TestParseReduction(t *testing.T) {
	for name, want := range map[string]losses.Reduction{"": losses.SumByNonzeroWeights, "sum": losses.Sum, "mean": losses.Mean,
		"none": losses.None, "sum_over_batch_size": losses.SumOverBatchSize, "weighted_sum": losses.Sum} {
		if got, err := losses.ParseReduction(name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if _, err := losses.ParseReduction("avg"); err == nil || !strings.Contains(err.Error(), `unknown reduction "avg"`) {
		t.Errorf("got %v", err)
	}
}

func TestWrongUsesAreNamed(t *testing.T) {
	cases := []struct {
		want string
		use  func(b *models.Builder, x, y *G.Node)
	}{
		{"mean squared error: labels (4, 3) and predictions (4, 2): expected equal shapes", func(b *models.Builder, x, y *G.Node) {
			losses.MeanSquaredError(b, y, x, losses.Options{})
		}},
		{"hinge: operand 0 is nil", func(b *models.Builder, x, y *G.Node) { losses.Hinge(b, nil, x, losses.Options{}) }},
		{"loss: weights (4, 3) for losses (4, 2)", func(b *models.Builder, x, y *G.Node) {
			losses.MeanSquaredError(b, x, x, losses.Options{Weights: y})
		}},
		{"label smoothing: labels (4, 2), smoothing 2", func(b *models.Builder, x, y *G.Node) { losses.SmoothLabels(b, x, 2) }},
		{"unknown reduction", func(b *models.Builder, x, y *G.Node) {
			losses.MeanSquaredError(b, x, x, losses.Options{Reduction: "average"})
		}},
		{"labels are float32", func(b *models.Builder, x, y *G.Node) {
			losses.SparseSoftmaxCrossEntropy(b, b.Input("l", tensor.Float32, 4), x, losses.Options{})
		}},
	}
	for _, c := range cases {
		_, err := models.Build(models.Options{Batch: 4}, func(b *models.Builder) error {
			c.use(b, b.Input("x", tensor.Float32, 4, 2), b.Input("y", tensor.Float32, 4, 3))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

// Losses reduce to one number per step.
func Example() {
	_, err := models.Build(models.Options{Batch: 8}, func(b *models.Builder) error {
		labels, logits := b.Input("labels", tensor.Int64, 8), b.Input("logits", tensor.Float32, 8, 3)
		fmt.Println(losses.SparseSoftmaxCrossEntropy(b, labels, logits, losses.Options{}).Shape())
		fmt.Println(losses.SparseSoftmaxCrossEntropy(b, labels, logits, losses.Options{Reduction: losses.None}).Shape())
		return nil
	})
	fmt.Println(err)
	// Output:
	// ()
	// (8)
	// <nil>
}
