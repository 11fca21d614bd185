package canned

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// memory trains on batches that each hold the whole data: a step grows many trees. It
// caches what it derives from the data as long as the data stays the same.
type memory struct {
	x       []float32
	y, w    []float32
	space   *trees.Space
	trainer *trees.Trainer
	seen    bool   // the data, and
	sum     uint64 // its checksum
}

// memoryStep is the input of a step.
type memoryStep struct {
	e          *trees.Ensemble
	boundaries []float32
	args       []*tensor.Tensor
	tally      *optimizers.Tally
}

// memoryWork is the work of a step. A step takes seconds at most, so that cancelled training ends soon, but reads the data again.
const memoryWork = 1 << 27

// stepTrees is the most trees that a step grows, in all or, if classes have their own trees, for each class.
func (c *treeConfig) stepTrees() int {
	if c.ClassTrees {
		return 100 * c.Dim
	}
	return 100
}

// work is the work of a tree: examples times features times outputs.
func (c *treeConfig) work(rows int) int {
	features, outputs := float64(len(c.Features)), max(c.Dim, 1)
	if c.ColumnShare > 0 {
		features *= c.ColumnShare
	}
	if c.ClassTrees {
		outputs = 1
	}
	return max(rows, 1) * max(int(features), 1) * outputs
}

// collect grows trees and records the resulting ensemble, after the boundaries.
func (m *memory) collect(c *treeConfig, s memoryStep) error {
	if len(s.tally.Records) > 0 || s.tally.Sums[0] != 0 {
		return fmt.Errorf("train_in_memory: a second batch in the same step: expected one replica")
	}
	if err := m.load(c, s); err != nil {
		return err
	}
	t := m.trainer
	rows := len(m.y) / c.labels()
	s.tally.Sums[0] = m.loss(c)
	until := t.Ensemble.State[trees.StateTrees] + int64(min(max(memoryWork/c.work(rows), 1), c.stepTrees()))
	for !t.Ensemble.Done(&c.Config) && t.Ensemble.State[trees.StateTrees] < until {
		if err := t.Layer(); err != nil {
			return err
		}
	}
	s.tally.Records = appendEnsemble(s.tally.Records, m.boundaries(c), t.Ensemble)
	return nil
}

// labels is the number of values of a label.
func (c *treeConfig) labels() int {
	if c.Loss == heads.SoftmaxLoss {
		return 1
	}
	return c.Dim
}

// load makes a trainer unless there is one for the same data and state.
func (m *memory) load(c *treeConfig, s memoryStep) error {
	y, args := float32s(s.args[0]), s.args[1:len(s.args)-1]
	var w []float32
	if c.Weighted {
		w, args = float32s(args[0]), args[1:]
	}
	rows := len(y) / c.labels()
	if m.trainer != nil && slices.Equal(y, m.y) && slices.Equal(w, m.w) && slices.Equal(m.trainer.Ensemble.State, s.e.State) && areSideBySide(m.x, args, rows, c.Width) {
		return nil
	}
	m.trainer = nil // do not reuse other data's bins if this fails
	if rows == 0 {
		return fmt.Errorf("train_in_memory: a batch without examples: expected the whole data")
	}
	m.x, m.y, m.w = sideBySide(args, rows, c.Width), slices.Clone(y), slices.Clone(w)
	was, seen := m.sum, m.seen
	if m.sum, m.seen = m.sumOfRows(rows), true; seen && m.sum != was {
		return fmt.Errorf("train_in_memory: this batch of %d examples has not the same ones as the batch before: expected that each batch is the whole data: "+
			"batch_size must be the number of examples that training has, not more or less", rows)
	}
	boundaries := s.boundaries
	if !c.bounded(s.e) {
		boundaries = slices.Clone(boundaries)
		for i, f := range c.Features {
			if c.sought(i) {
				sketch := trees.NewSketch(c.Epsilon)
				sketch.Push(m.x[f.First:], c.Width, w)
				setBoundaries(boundaries[i*256:(i+1)*256], sketch.Boundaries(c.Buckets))
			}
		}
	}
	var err error
	if m.space, err = c.space(slices.Clone(boundaries)); err != nil {
		return err
	}
	e := trees.NewEnsemble(&c.Config)
	e.Set(s.e)
	e.State[trees.StateBounded] = 1
	loss, err := m.lossOf(c)
	if err != nil {
		return err
	}
	t, err := trees.NewTrainer(&c.Config, m.space, e, m.x, rows, loss)
	if err != nil {
		return err
	}
	m.trainer = t
	return nil
}

// sumOfRows is a checksum of the data that does not depend on the order of the
// rows.
func (m *memory) sumOfRows(rows int) (sum uint64) {
	for r := range rows {
		h := uint64(0)
		for _, part := range [][]float32{m.x, m.y, m.w} {
			n := len(part) / rows
			for _, v := range part[r*n : (r+1)*n] {
				h = splitmix.Mix(h, uint64(math.Float32bits(v)))
			}
		}
		sum += h
	}
	return sum
}

// sideBySide joins columns [rows, ...] to rows of width numbers.
func sideBySide(columns []*tensor.Tensor, rows, width int) []float32 {
	x := make([]float32, rows*width)
	at := 0
	for _, t := range columns {
		v := float32s(t)
		n := len(v) / rows
		for r := range rows {
			copy(x[r*width+at:r*width+at+n], v[r*n:(r+1)*n])
		}
		at += n
	}
	return x
}

// areSideBySide reports whether x equals what sideBySide returns for the columns. It
// compares bits, since missing numbers are NaN.
func areSideBySide(x []float32, columns []*tensor.Tensor, rows, width int) bool {
	at := 0
	for _, t := range columns {
		v := float32s(t)
		n := len(v) / rows
		for i, number := range v {
			if math.Float32bits(x[i/n*width+at+i%n]) != math.Float32bits(number) {
				return false
			}
		}
		at += n
	}
	return true
}

func (m *memory) lossOf(c *treeConfig) (trees.Loss, error) {
	least, most, expected := float32(0), float32(0), "<= n_classes - 1, and >= 0"
	switch c.Loss {
	case heads.SquaredLoss:
		least, most, expected = -math.MaxFloat32, math.MaxFloat32, "finite"
	case heads.SigmoidLoss:
		most = 1
	case heads.SoftmaxLoss:
		most = float32(c.Dim - 1)
	}
	for i, v := range m.y {
		if !(v >= least && v <= most) || c.Loss == heads.SoftmaxLoss && v != float32(int(v)) {
			return nil, fmt.Errorf("train_in_memory: the label of row %d is %v: labels must be %s", i/c.labels(), v, expected)
		}
	}
	switch c.Loss {
	case heads.SquaredLoss:
		return &trees.Squared{Labels: m.y, Weights: m.w, Dim: c.Dim}, nil
	case heads.SigmoidLoss:
		return &trees.Logistic{Labels: m.y, Weights: m.w, Dim: c.Dim}, nil
	case heads.SoftmaxLoss:
		classes := make([]int64, len(m.y))
		for i, v := range m.y {
			classes[i] = int64(v)
		}
		return &trees.Softmax{Classes: classes, Weights: m.w, Dim: c.Dim}, nil
	}
	return nil, fmt.Errorf("train_in_memory: unknown loss %q", c.Loss)
}

// loss returns the loss at the current outputs, reduced as by the head.
func (m *memory) loss(c *treeConfig) float64 {
	z := m.trainer.Outputs()
	sum := 0.0
	rows := len(m.y) / c.labels()
	for r := range rows {
		w := 1.0
		if m.w != nil {
			w = float64(m.w[r])
		}
		sum += w * exampleLoss(c, z[r*c.Dim:(r+1)*c.Dim], m.y[r*c.labels():(r+1)*c.labels()])
	}
	if !c.Mean {
		return sum * float64(c.labels())
	}
	return sum / float64(rows)
}

// exampleLoss is the loss of one example, as the head defines it.
func exampleLoss(c *treeConfig, z, y []float32) float64 {
	sum := 0.0
	switch c.Loss {
	case heads.SoftmaxLoss:
		top := float64(slices.Max(z))
		for _, v := range z {
			sum += math.Exp(float64(v) - top)
		}
		return math.Log(sum) + top - float64(z[int(y[0])])
	case heads.SigmoidLoss:
		for k, v := range z {
			v := float64(v)
			sum += max(v, 0) - v*float64(y[k]) + math.Log1p(math.Exp(-math.Abs(v)))
		}
	default:
		for k, v := range z {
			sum += float64(v-y[k]) * float64(v-y[k])
		}
	}
	return sum / float64(len(z))
}

// boundaries returns the boundaries of the space in the form of their variable.
func (m *memory) boundaries(c *treeConfig) []float32 {
	out := make([]float32, len(c.Features)*256)
	for i, f := range m.space.Features {
		setBoundaries(out[i*256:(i+1)*256], f.Boundaries)
	}
	return out
}

// appendEnsemble appends boundaries and ensemble in binary form.
func appendEnsemble(b []byte, boundaries []float32, e *trees.Ensemble) []byte {
	for _, v := range [][]float32{boundaries, e.Threshold, e.Values, e.Gains} {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, v := range [][]int32{e.Feature, e.Left} {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
	}
	for _, x := range e.State {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// applyMemory applies the ensemble that collect recorded.
func (c *treeConfig) applyMemory(e *trees.Ensemble, boundaries []float32, loss *tensor.Tensor, t *optimizers.Tally) error {
	b := t.Records
	size := 4*(len(boundaries)+len(e.Threshold)+len(e.Values)+len(e.Gains)+len(e.Feature)+len(e.Left)) + 8*len(e.State)
	if len(b) != size {
		return fmt.Errorf("train_in_memory: an ensemble of %d bytes, expected %d of one replica", len(b), size)
	}
	for _, v := range [][]float32{boundaries, e.Threshold, e.Values, e.Gains} {
		for i := range v {
			v[i], b = math.Float32frombits(binary.LittleEndian.Uint32(b)), b[4:]
		}
	}
	for _, v := range [][]int32{e.Feature, e.Left} {
		for i := range v {
			v[i], b = int32(binary.LittleEndian.Uint32(b)), b[4:]
		}
	}
	for i := range e.State {
		e.State[i], b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
	tensor.Values[float32](loss)[0] = float32(t.Sums[0])
	return e.Check(&c.Config, c.Width)
}
