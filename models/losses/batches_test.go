package losses_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

// ofBatch is a loss of a whole batch as a function of x, [rows, ...].
type ofBatch struct {
	shape []int
	loss  func(b *models.Builder, x *G.Node) *G.Node
	feeds []*tensor.Tensor // the other inputs of the loss, in order
}

// check compares the loss of x with want, and its gradient with finite differences.
func (k ofBatch) check(t *testing.T, x, want []float64) {
	t.Helper()
	p := modeltest.New(t, models.Options{Mode: models.Train, DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
		in := b.Input("x", tensor.Float64, append([]int{b.Batch()}, k.shape[1:]...)...)
		y := k.loss(b, in)
		if b.Failed() {
			return nil
		}
		grads, err := G.Grad(ops.Sum(b, y), in)
		if err != nil {
			b.Fail(err)
			return nil
		}
		return []*G.Node{y, grads[0]}
	})
	at := func(x []float64) (y, gradient []float64) {
		got := p.Host(t, k.shape[0], append([]*tensor.Tensor{modeltest.Tensor(tensor.Float64, x, k.shape...)}, k.feeds...)...)
		return modeltest.Floats(got[0]), modeltest.Floats(got[1])
	}
	got, gradient := at(x)
	if d := cmp.Diff(want, got, near); d != "" {
		t.Error(d)
	}
	for i := range x {
		const h = 1e-6
		moved := append([]float64(nil), x...)
		moved[i] += h
		above, _ := at(moved)
		moved[i] -= 2 * h
		below, _ := at(moved)
		if d := (finiteSum(above) - finiteSum(below)) / (2 * h); math.Abs(d-gradient[i]) > 1e-6 {
			t.Errorf("gradient %d: got %v, differences give %v", i, gradient[i], d)
		}
	}
}

// finiteSum leaves out losses that are infinite, whose gradient is 0.
func finiteSum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		if !math.IsInf(x, 0) {
			s += x
		}
	}
	return s
}

// values returns n numbers without a pattern, the same each time.
func values(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1.5 * math.Sin(float64(i*i)+0.3)
	}
	return v
}

func TestCTC(t *testing.T) {
	const steps, classes = 4, 3
	labels := [][]int{{0, 1}, {1, 1}, {0, 0}, {1, 0}, {0, 1}, {1, 1}}
	labelLengths, logitLengths := []float64{2, 2, 1, 0, 2, 2}, []float64{4, 4, 3, 4, 2, 2}
	for _, blank := range []int{2, 0, -1} {
		x := values(len(labels) * steps * classes)
		var ids, want []float64
		for r, row := range labels {
			row = append([]int(nil), row...)
			for i := range row {
				if blank == 0 {
					row[i]++
				}
				ids = append(ids, float64(row[i]))
			}
			own := x[r*steps*classes:][:int(logitLengths[r])*classes]
			want = append(want, spelled(own, classes, (blank+classes)%classes, row[:int(labelLengths[r])]))
		}
		ofBatch{[]int{len(labels), steps, classes}, func(b *models.Builder, x *G.Node) *G.Node {
			a := losses.Alignment{Blank: blank}
			ids := b.Input("ids", tensor.Int64, b.Batch(), 2)
			a.LabelLengths, a.LogitLengths = b.Input("label_lengths", tensor.Int64, b.Batch()), b.Input("logit_lengths", tensor.Int64, b.Batch())
			return losses.CTC(b, ids, x, a, losses.Options{Reduction: losses.None})
		}, []*tensor.Tensor{modeltest.Tensor(tensor.Int64, ids, len(labels), 2), modeltest.Tensor(tensor.Int64, labelLengths, len(labels)),
			modeltest.Tensor(tensor.Int64, logitLengths, len(labels))}}.check(t, x, want)
	}
}

// spelled computes the loss by its definition: over all paths of classes that spell the labels.
func spelled(logits []float64, classes, blank int, labels []int) float64 {
	steps, total := len(logits)/classes, 0.0
	path := make([]int, steps)
	for {
		var out []int
		p := 1.0
		for t, k := range path {
			if k != blank && (t == 0 || path[t-1] != k) {
				out = append(out, k)
			}
			sum := 0.0
			for _, v := range logits[t*classes:][:classes] {
				sum += math.Exp(v)
			}
			p *= math.Exp(logits[t*classes+k]) / sum
		}
		if cmp.Equal(out, append([]int(nil), labels...)) {
			total += p
		}
		t := 0
		for ; t < steps && path[t] == classes-1; t++ {
			path[t] = 0
		}
		if t == steps {
			return -math.Log(total)
		}
		path[t]++
	}
}

// TensorFlow 2.15: tf.nn.ctc_loss([[0, 1]], logits, [2], [4], logits_time_major=False, blank_index=2) is 0.88096744 in single
// precision. Without lengths all have full length; two labels of the same class need three steps.
func TestCTCOfTensorFlow(t *testing.T) {
	logits := []float64{0.1, -0.4, 0.3, 1.2, 0.5, -0.7, 0, 0.9, 0.2, -1.1, 0.6, 0.8}
	want := spelled(logits, 3, 2, []int{0, 1})
	if math.Abs(want-0.88096744) > 1e-6 {
		t.Errorf("the definition gives %v, TensorFlow 0.88096744", want)
	}
	loss := func(b *models.Builder, x *G.Node) *G.Node {
		return losses.CTC(b, b.Input("ids", tensor.Int64, b.Batch(), 2), x, losses.Alignment{Blank: 2}, losses.Options{Reduction: losses.None})
	}
	ofBatch{[]int{1, 4, 3}, loss, []*tensor.Tensor{modeltest.Tensor(tensor.Int64, []float64{0, 1}, 1, 2)}}.check(t, logits, []float64{want})
	ofBatch{[]int{1, 2, 3}, loss, []*tensor.Tensor{modeltest.Tensor(tensor.Int64, []float64{1, 1}, 1, 2)}}.check(t, logits[:6], []float64{math.Inf(1)})
}

// TestInBatch: with ids, the second and the last candidate are the same, and no negatives for each other's queries.
func TestInBatch(t *testing.T) {
	const n, width, temperature = 4, 3, 0.5
	q, candidates := values(n*width), make([]float64, n*width)
	for i := range candidates {
		candidates[i] = math.Cos(float64(3 * i))
	}
	for _, ids := range [][]float64{nil, {5, 2, 3, 2}} {
		want := make([]float64, n)
		for i := range n {
			sum, own := 0.0, 0.0
			for j := range n {
				score := 0.0
				for k := range width {
					score += q[i*width+k] * candidates[j*width+k] / temperature
				}
				if i == j {
					own = score
				} else if ids != nil && ids[i] == ids[j] {
					continue
				}
				sum += math.Exp(score)
			}
			want[i] = math.Log(sum) - own
		}
		feeds := []*tensor.Tensor{modeltest.Tensor(tensor.Float64, candidates, n, width)}
		if ids != nil {
			feeds = append(feeds, modeltest.Tensor(tensor.Int64, ids, n))
		}
		ofBatch{[]int{n, width}, func(b *models.Builder, x *G.Node) *G.Node {
			own, o := b.Input("candidates", tensor.Float64, b.Batch(), width), losses.Options{Reduction: losses.None}
			if ids == nil {
				return losses.InBatch(b, own, x, temperature, o)
			}
			return losses.InBatchByID(b, own, x, b.Input("ids", tensor.Int64, b.Batch()), temperature, o)
		}, feeds}.check(t, q, want)
	}
}

func TestTriplet(t *testing.T) {
	const n, width, margin = 5, 3, 0.8
	anchor, positive, negative := values(n*width), values(2 * n * width)[n*width:], values(3 * n * width)[2*n*width:]
	copy(positive[:width], anchor[:width]) // distance 0: only the epsilon has a gradient
	want := make([]float64, n)
	for r := range n {
		to := func(other []float64) float64 {
			s := 0.0
			for k := r * width; k < (r+1)*width; k++ {
				s += (anchor[k] - other[k] + 1e-6) * (anchor[k] - other[k] + 1e-6)
			}
			return math.Sqrt(s)
		}
		want[r] = max(0, to(positive)-to(negative)+margin)
	}
	// For the row with distance 0, finite differences are too inexact.
	anchor[0] += 0.01
	want[0] = 0
	ofBatch{[]int{n, width}, func(b *models.Builder, x *G.Node) *G.Node {
		p, q := b.Input("positive", tensor.Float64, b.Batch(), width), b.Input("negative", tensor.Float64, b.Batch(), width)
		return losses.Triplet(b, x, p, q, margin, losses.Options{Reduction: losses.None})
	}, []*tensor.Tensor{modeltest.Tensor(tensor.Float64, positive, n, width), modeltest.Tensor(tensor.Float64, negative, n, width)}}.check(t, anchor, want)
}

func TestTripletSemiHard(t *testing.T) {
	const n, width = 6, 2
	for name, c := range map[string]struct {
		ids    []float64
		margin float64
	}{"two classes": {[]float64{0, 0, 1, 1, 0, 1}, 1}, "large margin": {[]float64{0, 0, 1, 1, 2, 2}, 20}, "no pair": {[]float64{0, 1, 2, 3, 4, 5}, 1}} {
		x := values(n * width)
		t.Run(name, func(t *testing.T) {
			for _, shape := range [][]int{{n}, {n, 1}} {
				ofBatch{[]int{n, width}, func(b *models.Builder, x *G.Node) *G.Node {
					return losses.TripletSemiHard(b, b.Input("ids", tensor.Int64, append([]int{b.Batch()}, shape[1:]...)...), x, c.margin)
				}, []*tensor.Tensor{modeltest.Tensor(tensor.Int64, c.ids, shape...)}}.check(t, x, []float64{semiHard(x, c.ids, width, c.margin)})
			}
		})
	}
}

// semiHard computes the loss by its definition.
func semiHard(x, ids []float64, width int, margin float64) float64 {
	d := func(i, j int) float64 {
		s := 0.0
		for k := range width {
			s += (x[i*width+k] - x[j*width+k]) * (x[i*width+k] - x[j*width+k])
		}
		return s
	}
	total, pairs := 0.0, 0
	for i := range ids {
		for j := range ids {
			if i == j || ids[i] != ids[j] {
				continue
			}
			nearest, farthest := math.Inf(1), 0.0
			for k := range ids {
				if ids[k] == ids[i] {
					continue
				}
				if farthest = max(farthest, d(i, k)); d(i, k) > d(i, j) {
					nearest = min(nearest, d(i, k))
				}
			}
			if math.IsInf(nearest, 1) {
				nearest = farthest
			}
			total += max(0, d(i, j)-nearest+margin)
			pairs++
		}
	}
	return total / float64(max(pairs, 1))
}
