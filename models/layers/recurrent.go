package layers

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Cell is the kind of a recurrent layer; its values are tf.estimator's cell_type.
type Cell string

// The cells, as Keras defines them (keras/layers/rnn, TensorFlow 2.15). Of the
// input x, the output h of the step before, the kernel W, the recurrent kernel U
// and the bias b, products are taken of the gates side by side, in the order named.
const (
	SimpleRNN Cell = "simple_rnn" // h' = tanh(xW + b + hU)
	// LSTM has gates i, f, c, o: c' = s(f)*c + s(i)*tanh(c), h' = s(o)*tanh(c'), of
	// xW + hU + b, with the sigmoid s (Hochreiter and Schmidhuber 1997). The bias of f
	// starts at 1.
	LSTM Cell = "lstm"
	// GRU has gates z, r, h: with x' = xW + b[0] and u = hU + b[1] it is
	// z = s(x'+u), r = s(x'+u), h' = z*h + (1-z)*tanh(x' + r*u) (Cho et al. 2014; Keras'
	// reset_after).
	GRU Cell = "gru"
)

// gates are the gates of each cell.
var gates = map[Cell]int{SimpleRNN: 1, LSTM: 4, GRU: 3}

// Check reports a cell that is none of the above.
func (k Cell) Check() error {
	if gates[k] == 0 {
		return fmt.Errorf("cell type %q: expected %s, %s or %s", string(k), SimpleRNN, LSTM, GRU)
	}
	return nil
}

// Rnn are the options of a recurrent layer.
type Rnn struct {
	Name  string // scope; "" is the cell's name, made unique, as "lstm_cell"
	Cell  Cell
	Units int
}

// Recurrent runs a cell along the steps of x [batch, T, features] and returns its
// output after each step, [batch, T, units]. Where mask, bool [batch, T], is
// false a step changes nothing: the output is that of the step before, zeros at
// the beginning. The last step's output is therefore that after an example's own last
// step. A nil mask is true everywhere.
//
// Variables are kernel [features, gates*units] (Glorot uniform), recurrent_kernel
// [units, gates*units] (orthogonal) and bias, [gates*units], of a GRU [2, gates*units].
func Recurrent(c models.Context, x, mask *G.Node, o Rnn) (y *G.Node) {
	if !usable(c, "recurrent", x, 3) || !positive(c, "recurrent", "units", o.Units) {
		return nil
	}
	if err := o.Cell.Check(); err != nil {
		c.Core().Fail(err)
		return nil
	}
	if s := x.Shape(); mask != nil && !slices.Equal(mask.Shape(), s[:2]) {
		c.Core().Failf("recurrent: the mask has shape %v, the input %v: expected %v", mask.Shape(), s, s[:2])
		return nil
	}
	scope(c, o.Name, string(o.Cell)+"_cell", func() { y = o.run(c, x, mask) })
	return y
}

// run makes the variables, projects all steps at once and goes along them.
func (o Rnn) run(c models.Context, x, mask *G.Node) *G.Node {
	b, n := c.Core(), gates[o.Cell]*o.Units
	steps, features := x.Shape()[1], x.Shape()[2]
	kernel := b.Variable("kernel", []int{features, n}, models.WithInit(initializers.GlorotUniform()))
	recurrent := b.Variable("recurrent_kernel", []int{o.Units, n}, models.WithInit(initializers.Orthogonal{Gain: 1}))
	bias, again := o.bias(c, n)
	// Steps first, so that those of all examples are neighbours in memory.
	x = ops.Transpose(c, x, 1, 0, 2)
	x = ops.BiasAdd(c, ops.MatMul(c, ops.Reshape(c, x, -1, features), kernel), bias)
	x = ops.Reshape(c, x, steps, -1, n)
	if b.Failed() {
		return nil
	}
	var there []*G.Node
	if mask != nil {
		there = apart(c, ops.ExpandDims(c, ops.Transpose(c, mask, 1, 0), -1))
	}
	r := recurrence{Context: c, units: o.Units, kernel: recurrent, bias: again}
	out := make([]*G.Node, steps)
	for t, xt := range apart(c, x) {
		if b.Failed() {
			return nil
		}
		if t == 0 {
			r.begin(xt)
		}
		before := r
		r.step(o.Cell, xt)
		if mask != nil {
			r.keep(o.Cell, there[t], before)
		}
		out[t] = ops.ExpandDims(c, r.h, 1)
	}
	return ops.Concat(c, 1, out...)
}

// bias returns the bias of the input and, of a GRU, that of the recurrent product.
func (o Rnn) bias(c models.Context, n int) (input, recurrent *G.Node) {
	switch b := c.Core(); o.Cell {
	case GRU:
		both := b.Variable("bias", []int{2, n}, models.WithInit(initializers.Zeros()))
		row := func(i int) *G.Node { return ops.Reshape(c, ops.Slice(c, both, []int{i, 0}, []int{1, n}), n) }
		return row(0), row(1)
	case LSTM:
		return b.Variable("bias", []int{n}, models.WithInit(forgetBias{o.Units})), nil
	default:
		return b.Variable("bias", []int{n}, models.WithInit(initializers.Zeros())), nil
	}
}

// forgetBias is 1 for the gate f, else 0 (Keras' unit_forget_bias).
type forgetBias struct{ units int }

// Init fills t [4*units].
func (f forgetBias) Init(t *graph.Tensor, key uint64) error {
	ones := graph.NewTensor(t.DType, f.units)
	if err := initializers.Ones().Init(ones, key); err != nil {
		return err
	}
	clear(t.Bytes)
	copy(t.Bytes[len(ones.Bytes):], ones.Bytes)
	return nil
}
