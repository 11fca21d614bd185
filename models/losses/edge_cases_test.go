package losses_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit/edgecases"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// tried is a loss and the labels to test it with.
type tried struct {
	exported, name string
	loss           loss
	labels         []float64
	rows           bool // a loss per row, not per number
}

// edgeLosses are the losses by their names here and in interop/python/edge_cases.py.
var edgeLosses = []tried{
	{"SparseSoftmaxCrossEntropy", "sparse_softmax_cross_entropy", losses.SparseSoftmaxCrossEntropy, []float64{0, 1, 2}, true},
	{"SoftmaxCrossEntropy", "softmax_cross_entropy", losses.SoftmaxCrossEntropy, []float64{0, 1, 0.5}, true},
	{"SigmoidCrossEntropy", "sigmoid_cross_entropy", losses.SigmoidCrossEntropy, []float64{0, 1, 0.5, -1}, false},
	{"Hinge", "hinge", losses.Hinge, []float64{0, 1, 0.5}, false},
	{"LogLoss", "log", losses.LogLoss, []float64{0, 1, 0.5}, false},
	{"MeanSquaredError", "mean_squared_error", losses.MeanSquaredError, []float64{0, 1, -3}, false},
	{"MeanAbsoluteError", "mean_absolute_error", losses.MeanAbsoluteError, []float64{0, 1, -3}, false},
	{"Huber", "huber", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node { return losses.Huber(c, l, p, 1, o) }, []float64{0, 1, -3}, false},
	{"Poisson", "poisson", losses.Poisson, []float64{0, 1, 2}, false},
	{"LogPoisson", "log_poisson", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.LogPoisson(c, l, p, false, o)
	}, []float64{0, 1, 2}, false},
	{"LogPoisson", "full_log_poisson", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.LogPoisson(c, l, p, true, o)
	}, []float64{0, 1, 2}, false},
	{"CosineDistance", "cosine_distance", losses.CosineDistance, []float64{0, 1, -1}, true},
	{"SigmoidFocal", "sigmoid_focal", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.SigmoidFocal(c, l, p, losses.Focal{Gamma: 2}, o)
	}, []float64{0, 1, 0.5}, false},
	{"SigmoidFocal", "balanced_sigmoid_focal", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.SigmoidFocal(c, l, p, losses.Focal{Gamma: 1.5, Alpha: 0.25}, o)
	}, []float64{0, 1}, false},
	{"SoftmaxFocal", "softmax_focal", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.SoftmaxFocal(c, l, p, losses.Focal{Gamma: 2, Alpha: 0.25}, o)
	}, []float64{0, 1, 0.5}, true},
	{"KLDivergence", "kl_divergence", losses.KLDivergence, []float64{0, 1, 0.25}, true},
	{"CosineSimilarity", "cosine_similarity", losses.CosineSimilarity, []float64{0, 1, -3}, true},
	{"Dice", "dice", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node { return losses.Dice(c, l, p, 1, o) }, []float64{0, 1}, true},
	{"Contrastive", "contrastive", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.Contrastive(c, l, p, 1, o)
	}, []float64{0, 1}, false},
	{"Quantile", "quantile", func(c models.Context, l, p *G.Node, o losses.Options) *G.Node {
		return losses.Quantile(c, l, p, 0.75, o)
	}, []float64{0, 1, -3}, false},
}

// ofBatches are the losses that see several rows at once; distance_test.go and ctc_test.go test them.
var ofBatches = []string{"InBatch", "InBatchByID", "Triplet", "CTC"}

// edgeLoss is a loss with its feeds.
type edgeLoss struct {
	name                                string
	loss                                tried
	reduction                           losses.Reduction
	labels, predictions, weights, given *tensor.Tensor // weights are nil for none
}

const columns = 3

// drawLosses draws cases for one loss: unreduced, and weighted and reduced in every way.
func drawLosses(which int, d tensor.DType) []edgeLoss {
	c := edgeLosses[which]
	var out []edgeLoss
	add := func(draw string, how losses.Reduction, labels, predictions, weights, given []float64) {
		rows := len(predictions) / columns
		k := edgeLoss{name: fmt.Sprintf("%s/%v/%s/%s", c.name, d, how, draw), loss: c, reduction: how}
		k.predictions = modeltest.Tensor(d, predictions, rows, columns)
		k.labels = modeltest.Tensor(tensor.Float32, labels, rows, columns)
		sparse := c.exported == "SparseSoftmaxCrossEntropy"
		if sparse {
			k.labels = modeltest.Tensor(tensor.Int64, labels[:rows], rows)
		}
		if weights != nil {
			k.weights = modeltest.Tensor(tensor.Float32, weights, rows, 1)
			if c.rows && c.exported != "CosineDistance" {
				k.weights = modeltest.Tensor(tensor.Float32, weights, rows)
			}
		}
		shape := []int{}
		if how == losses.None {
			shape = []int{rows, columns}
			if c.rows {
				shape = []int{rows}
			}
			if c.exported == "CosineDistance" {
				shape = []int{rows, 1}
			}
		}
		k.given = modeltest.Tensor(d, given[:tensor.NumElements(shape)], shape...)
		out = append(out, k)
	}
	styles := edgecases.Styles(tensor.Float32)
	if !c.rows {
		all := edgecases.All(tensor.Float32) // the type that tf.losses computes in; denormals are tested in models/ops
		all.Values = slices.DeleteFunc(all.Values, func(v float64) bool { is, _ := edgecases.Denormal(tensor.Float32, v); return is })
		product := edgecases.Product(c.labels, all.Values, []float64{1, 0, -2})
		add(all.Name, losses.None, product[0], product[1], nil, product[2])
	}
	for _, s := range styles {
		r := rand.New(rand.NewPCG(3, uint64(which)))
		const rows = 5
		draw := func(n int, from []float64) []float64 { return edgecases.Draw(r, n, from) }
		if s.Name == edgecases.Tiny {
			continue // the same as zeros
		}
		if c.rows {
			add(s.Name, losses.None, draw(rows*columns, c.labels), draw(rows*columns, s.Values), nil, draw(rows*columns, s.Cotangents))
		}
		for _, weights := range [][]float64{{0}, {0, 1, 0.5}} {
			if !s.Finite() || !s.Ordinary() {
				continue // a number that is not finite times a weight of 0 is NaN in every loss
			}
			for _, how := range []losses.Reduction{losses.None, losses.Sum, losses.Mean, losses.SumByNonzeroWeights, losses.SumOverBatchSize} {
				add(fmt.Sprint(s.Name, " weighted ", weights), how, draw(rows*columns, c.labels), draw(rows*columns, s.Values), draw(rows, weights), draw(rows*columns, s.Cotangents))
			}
		}
	}
	return out
}

func (k edgeLoss) ask() edgecases.Case {
	name, _, _ := strings.Cut(k.name, "/")
	c := edgecases.Case{Name: k.name, Function: name + ":" + string(k.reduction), WRT: []string{"predictions"},
		Feeds: []edgecases.Tensor{edgecases.Of("labels", k.labels), edgecases.Of("predictions", k.predictions)}}
	if k.weights != nil {
		c.Feeds = append(c.Feeds, edgecases.Of("weights", k.weights))
	}
	given := edgecases.Of("", k.given)
	c.Cot = &given
	return c
}

// program builds the loss and its gradient.
func (k edgeLoss) program(t *testing.T) *modeltest.Program {
	t.Helper()
	d := k.predictions.DType
	return modeltest.New(t, models.Options{Mode: models.Train, DType: d}, func(b *models.Builder) []*G.Node {
		sized := func(x *tensor.Tensor) []int { return append([]int{b.Batch()}, x.Shape[1:]...) }
		o := losses.Options{Reduction: k.reduction}
		labels, predictions := b.Input("labels", k.labels.DType, sized(k.labels)...), b.Input("predictions", d, sized(k.predictions)...)
		if k.weights != nil {
			o.Weights = b.Input("weights", tensor.Float32, sized(k.weights)...)
		}
		y := k.loss.loss(b, labels, predictions, o)
		if b.Failed() {
			return nil
		}
		grads, err := G.Grad(ops.Sum(b, ops.Mul(b, y, b.Input("given", d, y.Shape()...))), predictions)
		if err != nil {
			b.Fail(err)
			return nil
		}
		return []*G.Node{y, grads[0]}
	})
}

// TestEdgeCases compares every loss and its gradient with TensorFlow's: where labels and predictions are equal,
// 0, 1 or not finite, and where all weights are 0.
func TestEdgeCases(t *testing.T) {
	var all []edgeLoss
	var asked []edgecases.Case
	for i := range edgeLosses {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
			for _, k := range drawLosses(i, d) {
				all, asked = append(all, k), append(asked, k.ask())
			}
		}
	}
	answered := edgecases.Answered(t, asked)
	programs := map[string]*modeltest.Program{}
	for i, k := range all {
		key := fmt.Sprintf("%s %v %s %v", k.loss.exported+k.loss.name, k.predictions.DType, k.reduction, k.weights != nil)
		if programs[key] == nil {
			programs[key] = k.program(t)
		}
		t.Run(k.name, func(t *testing.T) {
			if answered[i].Error != "" {
				t.Fatalf("TensorFlow has no answer: %s", answered[i].Error)
			}
			k.check(t, programs[key], answered[i].Want)
		})
	}
}

func (k edgeLoss) check(t *testing.T, p *modeltest.Program, want []edgecases.Tensor) {
	feeds := []*tensor.Tensor{k.labels, k.predictions, k.given}
	if k.weights != nil {
		feeds = slices.Insert(feeds, 2, k.weights)
	}
	defer kernels.SetLevel(kernels.BestLevel())
	for level := kernels.Portable; level <= kernels.BestLevel(); level++ {
		kernels.SetLevel(level)
		for i, got := range p.Run(t, device.NewHost(), k.predictions.Shape[0], 0, feeds...) {
			differ, err := edgecases.Differences(got, want[i], 2e-5)
			if err != nil {
				t.Fatalf("%v, result %d: %v", level, i, err)
			}
			for _, at := range differ[:min(len(differ), 5)] {
				s := ""
				if strings.HasSuffix(k.name, "/all") {
					s = fmt.Sprintf(" of label %v, prediction %v, gradient %v", k.labels.Float(at), k.predictions.Float(at), k.given.Float(at))
				}
				t.Errorf("%v, result %d, element %d: got %v, TensorFlow %v%s", level, i, at, got.Float(at), want[i].Graph().Float(at), s)
			}
		}
	}
}

// TestEdgeCasesAreComplete fails if an exported loss is not in edgeLosses.
func TestEdgeCasesAreComplete(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || !takesOptions(fn) || fn.Name.Name == "Weighted" {
				continue
			}
			found++
			if !slices.ContainsFunc(edgeLosses, func(c tried) bool { return c.exported == fn.Name.Name }) && !slices.Contains(ofBatches, fn.Name.Name) {
				t.Errorf("loss %s is not compared with TensorFlow at edge cases", fn.Name.Name)
			}
		}
	}
	if found == 0 {
		t.Error("found no losses")
	}
}

func takesOptions(fn *ast.FuncDecl) bool {
	last := fn.Type.Params.List[len(fn.Type.Params.List)-1]
	id, ok := last.Type.(*ast.Ident)
	return ok && id.Name == "Options"
}
