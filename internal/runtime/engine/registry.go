package engine

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// runFunc does one step of a run on values of the current batch.
type runFunc func() error

// compileFunc makes a step. It may read types and constants but no storage, which is allocated later and can move.
type compileFunc func(c *binding) (runFunc, error)

// opDef is what the engine knows about an op.
type opDef struct {
	compile compileFunc
	alias   bool  // output 0 is input 0 with another shape: no step
	inplace []int // inputs whose storage output into may take over
	into    int
	alone   bool // works in several passes, so no other input may share the storage that it takes over

	elemental *elemental // nil unless it works element by element on floats

	// What the op's definition says:
	writes bool  // updates the variables of its resource inputs
	strict bool  // must not see a variable that it writes through an input's storage
	shape  bool  // depends only on its input's shape, not on its elements
	unread []int // inputs that are not read, as the result's type has their information
	effect bool  // never merged with an equal op

	precision ops.Precision // how BF16Mixed treats it
}

// describe copies the properties of an op's definition.
func (d *opDef) describe(op *ops.Def) {
	d.writes, d.effect, d.shape = op.State == ops.Writes, op.State == ops.Effects, op.ByShape
	d.precision = op.Precision
	d.strict = d.writes && op.Input("indices") >= 0
	d.unread = op.With(ops.RoleSize, ops.RoleUnread)
}

// minOut returns the least number of outputs that a node must have.
func (d *opDef) minOut(op string) int {
	switch op {
	case "Const", "Placeholder", "VarHandleOp", "ReadVariableOp":
		return 1
	}
	if d.alias {
		return 1
	}
	return d.into * min(len(d.inplace), 1)
}

// families are the tables of ops, one per file of kernels; see definedOps too.
func families() []map[*ops.Def]opDef {
	return []map[*ops.Def]opDef{structureOps, stateOps, updateOps, unaryOps, roundingOps, binaryOps, matmulOps, integerOps, reduceOps,
		softmaxOps, castOps, layoutOps, generateOps, indexOps, segmentOps, matrixOps, selectOps, convOps, poolOps, normOps, raggedOps, sumByIndexOps, scanOps, attentionOps}
}

// registry is all families in one.
var registry = sync.OnceValue(func() map[string]*opDef {
	all := map[string]*opDef{}
	for _, f := range append(families(), definedOps()) {
		for op, d := range f {
			d.describe(op)
			all[op.Name] = &d
		}
	}
	return all
})

// Supported reports whether the engine supports the TensorFlow op on Go-addressable devices.
func Supported(op string) bool { return registry()[op] != nil }

// binding is what an op's compile function sees.
type binding struct {
	node *graph.Node
	op   *op
	in   []*value
	out  []*value

	onBatch func() error // called when the batch size has changed, before the next run

	changing map[*variable]bool // see plan
	shared   *sharedWeights
	weights  []weightsKey // shared weights that the op uses
	own      []packed     // constants packed for the kernels
	packed   []int        // inputs that are read only in packed form
}

// need fails unless the op has at least that many inputs and outputs.
func (c *binding) need(in, out int) error {
	if len(c.in) < in || len(c.out) < out {
		return fmt.Errorf("expected at least %d inputs and %d outputs, got %d and %d", in, out, len(c.in), len(c.out))
	}
	return nil
}

// constant returns the tensor of an input that must be a Const.
func (c *binding) constant(i int) (*tensor.Tensor, error) {
	if i >= len(c.op.in) {
		return nil, fmt.Errorf("expected an input %d", i)
	}
	o := c.op.in[i].op
	for o.node.Op == "Identity" {
		o = o.in[0].op
	}
	if t, ok := o.node.Attrs["value"].(*tensor.Tensor); ok && o.node.Op == "Const" {
		return t, nil
	}
	return nil, fmt.Errorf("input %d (%s): expected a constant, got the result of %s", i, o.node.Name, o.node.Op)
}

// ints returns the elements of an integer constant input.
func (c *binding) ints(i int) ([]int, error) {
	t, err := c.constant(i)
	if err != nil {
		return nil, err
	}
	out, err := convert.Ints(t)
	if err != nil {
		return nil, fmt.Errorf("input %d: %w", i, err)
	}
	return out, nil
}

// axis returns a constant scalar input as an axis of a tensor of the given rank.
func (c *binding) axis(i, rank int) (int, error) {
	v, err := c.ints(i)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("input %d: expected one axis, got %v", i, v)
	}
	return normalAxis(v[0], rank)
}

func normalAxis(a, rank int) (int, error) {
	if a < -rank || a >= rank {
		return 0, fmt.Errorf("axis %d: expected -%d <= axis < %d", a, rank, rank)
	}
	return (a + rank) % rank, nil
}

// byType chooses the compile function for an element type.
func byType(forms map[tensor.DType]compileFunc, of func(c *binding) tensor.DType) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(0, 1); err != nil {
			return nil, err
		}
		d := of(c)
		f := forms[d]
		if f == nil {
			return nil, fmt.Errorf("element type %v is not supported", d)
		}
		return f(c)
	}
}

func in0(c *binding) tensor.DType {
	if len(c.in) == 0 {
		return tensor.Invalid
	}
	return c.in[0].typ.DType
}

func out0(c *binding) tensor.DType { return c.out[0].typ.DType }

// floats chooses between the compile functions of both float types by the type of output 0.
func floats(f32, f64 compileFunc) compileFunc {
	return byType(map[tensor.DType]compileFunc{tensor.Float32: f32, tensor.Float64: f64}, out0)
}

// floatsIn is floats by the type of input 0.
func floatsIn(f32, f64 compileFunc) compileFunc {
	return byType(map[tensor.DType]compileFunc{tensor.Float32: f32, tensor.Float64: f64}, in0)
}
