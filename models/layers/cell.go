package layers

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Cell describes what a recurrent layer does at each step. It must hold no nodes, since
// a model is built several times, with variables of the same names and shapes.
// CellType.Of makes the cells of Keras; custom cells implement this interface.
type Cell interface {
	// Name is the scope of the variables. For Keras' cells it is the class name in
	// snake case, such as lstm_cell, as in Python's checkpoints.
	Name() string
	// Check reports what is wrong with the cell's options.
	Check() error
	// Begin makes the variables, in the cell's scope. x [T, batch, features] is the input
	// of all steps, so that parts that do not depend on a state can be computed for all
	// steps in one op. Begin may return nil after a failure of c.
	Begin(c models.Context, x *G.Node) *Steps
}

// Steps is a cell with its variables.
type Steps struct {
	Inputs *G.Node // [T, batch, ...]: the part that each step gets; nil: the input of Begin
	States []int   // width of each state; states start as zeros, [batch, width]
	// Step advances by one step: from x [batch, ...] and the previous states it computes
	// the output [batch, units] and the next states. Each output and each state should
	// depend on the previous states, so that a single step trains all variables.
	Step func(x *G.Node, states []*G.Node) (output *G.Node, next []*G.Node)
}

// CellType is a kind of Keras cell. Its values are those of tf.estimator's cell_type.
type CellType string

// The cells, as Keras defines them (keras/layers/rnn, TensorFlow 2.15). x is the
// input, h the previous step's output, W the kernel, U the recurrent kernel, b the
// bias. One product has all gates side by side, in the given order.
const (
	SimpleRNN CellType = "simple_rnn" // h' = tanh(xW + b + hU)
	// LSTM has gates i, f, c, o: c' = s(f)*c + s(i)*tanh(c), h' = s(o)*tanh(c'), of
	// xW + hU + b, with the sigmoid s (Hochreiter and Schmidhuber 1997). The bias of f
	// starts at 1.
	LSTM CellType = "lstm"
	// GRU has gates z, r, h: with x' = xW + b[0] and u = hU + b[1] it is
	// z = s(x'+u), r = s(x'+u), h' = z*h + (1-z)*tanh(x' + r*u) (Cho et al. 2014; Keras'
	// reset_after).
	GRU CellType = "gru"
)

// gates are the gates of each cell.
var gates = map[CellType]int{SimpleRNN: 1, LSTM: 4, GRU: 3}

// Of returns the cell with a number of units. Its variables are kernel [features,
// gates*units] (Glorot uniform), recurrent_kernel [units, gates*units] (orthogonal)
// and bias, [gates*units] or for a GRU [2, gates*units].
func (t CellType) Of(units int) Cell { return kerasCell{t, units} }

// kerasCell is a cell of Keras.
type kerasCell struct {
	kind  CellType
	units int
}

// Name returns Keras' name.
func (k kerasCell) Name() string { return string(k.kind) + "_cell" }

// Check reports an unknown type, or too few units.
func (k kerasCell) Check() error {
	if gates[k.kind] == 0 {
		return fmt.Errorf("cell type %q: expected %s, %s or %s", string(k.kind), SimpleRNN, LSTM, GRU)
	}
	if k.units < 1 {
		return fmt.Errorf("units is %d: expected >= 1", k.units)
	}
	return nil
}

// Begin projects the input of all steps in one product.
func (k kerasCell) Begin(c models.Context, x *G.Node) *Steps {
	b, n := c.Core(), gates[k.kind]*k.units
	steps, features := x.Shape()[0], x.Shape()[2]
	kernel := b.Variable("kernel", []int{features, n}, models.WithInit(initializers.GlorotUniform()))
	s := kerasSteps{Context: c, units: k.units, kernel: b.Variable("recurrent_kernel", []int{k.units, n}, models.WithInit(initializers.Orthogonal{Gain: 1}))}
	var bias *G.Node
	bias, s.bias = k.bias(c, n)
	x = ops.BiasAdd(c, ops.MatMul(c, ops.Reshape(c, x, -1, features), kernel), bias)
	out := &Steps{Inputs: ops.Reshape(c, x, steps, -1, n), States: []int{k.units}}
	switch k.kind {
	case SimpleRNN:
		out.Step = s.simple
	case LSTM:
		out.Step, out.States = s.lstm, []int{k.units, k.units}
	case GRU:
		out.Step = s.gru
	}
	return out
}

// bias returns the bias of the input and, for a GRU, the bias of the recurrent
// product.
func (k kerasCell) bias(c models.Context, n int) (input, recurrent *G.Node) {
	switch b := c.Core(); k.kind {
	case GRU:
		both := b.Variable("bias", []int{2, n}, models.WithInit(initializers.Zeros()))
		row := func(i int) *G.Node { return ops.Reshape(c, ops.Slice(c, both, []int{i, 0}, []int{1, n}), n) }
		return row(0), row(1)
	case LSTM:
		return b.Variable("bias", []int{n}, models.WithInit(forgetBias{k.units})), nil
	default:
		return b.Variable("bias", []int{n}, models.WithInit(initializers.Zeros())), nil
	}
}

// forgetBias initializes a bias to 1 for the gate f, else to 0 (Keras' unit_forget_bias).
type forgetBias struct{ units int }

// Init fills t [4*units].
func (f forgetBias) Init(t *tensor.Tensor, key uint64) error {
	ones := tensor.New(t.DType, f.units)
	if err := initializers.Ones().Init(ones, key); err != nil {
		return err
	}
	clear(t.Bytes)
	copy(t.Bytes[len(ones.Bytes):], ones.Bytes)
	return nil
}

// kerasSteps holds the variables of the recurrent product, and runs the steps of
// each cell.
type kerasSteps struct {
	models.Context
	units        int
	kernel, bias *G.Node // bias only for a GRU
}

func (s kerasSteps) simple(x *G.Node, states []*G.Node) (output *G.Node, next []*G.Node) {
	h := ops.Tanh(s, ops.Add(s, x, ops.MatMul(s, states[0], s.kernel)))
	return h, []*G.Node{h}
}

func (s kerasSteps) lstm(x *G.Node, states []*G.Node) (output *G.Node, next []*G.Node) {
	z := s.gates(ops.Add(s, x, ops.MatMul(s, states[0], s.kernel)), 4)
	c := ops.Add(s, ops.Mul(s, ops.Sigmoid(s, z[1]), states[1]), ops.Mul(s, ops.Sigmoid(s, z[0]), ops.Tanh(s, z[2])))
	h := ops.Mul(s, ops.Sigmoid(s, z[3]), ops.Tanh(s, c))
	return h, []*G.Node{h, c}
}

func (s kerasSteps) gru(x *G.Node, states []*G.Node) (output *G.Node, next []*G.Node) {
	in, back := s.gates(x, 3), s.gates(ops.BiasAdd(s, ops.MatMul(s, states[0], s.kernel), s.bias), 3)
	z := ops.Sigmoid(s, ops.Add(s, in[0], back[0]))
	reset := ops.Sigmoid(s, ops.Add(s, in[1], back[1]))
	fresh := ops.Tanh(s, ops.Add(s, in[2], ops.Mul(s, reset, back[2])))
	h := ops.Add(s, fresh, ops.Mul(s, z, ops.Sub(s, states[0], fresh)))
	return h, []*G.Node{h}
}

// gates splits x into the gates.
func (s kerasSteps) gates(x *G.Node, n int) []*G.Node {
	out := make([]*G.Node, n)
	for i := range out {
		out[i] = ops.Slice(s, x, []int{0, i * s.units}, []int{-1, s.units})
	}
	return out
}
