package lower

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// Target is the target that kernels are made for.
type Target struct {
	Context   driver.Context
	Kernels   *kernels.Library // kernels.Modules() and the generated kernels
	Products  Products
	Convs     Convolutions
	Fault     driver.Ptr // the program's fault record, kernels.FaultBytes long
	Precision Precision
}

// fault returns where the kernels of an operation record faults.
func (t *Target) fault(o *engine.Operation) kernels.Fault {
	return kernels.Fault{Record: t.Fault, Operation: o.Index}
}

// Precision says how float32 products are computed.
type Precision int

// The precisions. With both, bfloat16 operands are multiplied unchanged.
const (
	Float32 Precision = iota
	TF32              // factors rounded to 10 bits of mantissa
)

// lowering makes the step of an operation. It checks types and constants, and fails if the operation is not supported.
// It keeps the target for Bind but must not use it, since Supports passes an empty one.
type lowering func(t *Target, o *engine.Operation) (Step, error)

// Step is a lowered operation.
type Step interface {
	// Workspace returns the bytes needed besides the operands for a batch of that many rows.
	Workspace(batch int) int
	// Bind makes the launches for the operands' current places and sizes.
	Bind() ([]Launch, error)
}

// Generated is a Step with a generated kernel, which Target.Kernels must have before the first launch.
type Generated interface {
	Chain() *kernels.Chain
}

// Launch is work for a stream. It can be captured in a graph, so it must not depend on the host at the time of a run.
type Launch interface {
	Issue(s driver.Stream) error
}

// families are the tables of ops, one per file.
func families() []map[*ops.Def]lowering {
	return []map[*ops.Def]lowering{elementwiseOps, reduceOps, softmaxOps, normOps, updateOps, generateOps, matmulOps, convOps, depthwiseOps, poolOps,
		layoutOps, indexOps, raggedOps, rowsOps}
}

// registry is all families in one.
var registry = sync.OnceValue(func() map[string]lowering {
	all := map[string]lowering{}
	for _, f := range families() {
		for op, l := range f {
			all[op.Name] = l
		}
	}
	return all
})

// Supported reports whether there are kernels of the op, at least for some operands.
func Supported(op string) bool { return registry()[op] != nil }

// Supports returns nil if Lower can make a step of the operation, else what is missing.
func Supports(o *engine.Operation) error {
	_, err := Lower(&Target{}, o)
	return err
}

// Lower makes the step of an operation.
func Lower(t *Target, o *engine.Operation) (Step, error) {
	l := registry()[o.Node.Op]
	if l == nil {
		return nil, fmt.Errorf("op %s has no kernel on the GPU", o.Node.Op)
	}
	s, err := l(t, o)
	if err != nil {
		return nil, fmt.Errorf("op %s on the GPU: %w", o.Node.Op, err)
	}
	return s, nil
}

// Address returns the address of an operand, 0 if only its type matters.
func Address(o *engine.Operand) driver.Ptr {
	b, ok := o.Buffer.(interface{ Address() driver.Ptr })
	if !ok {
		return 0
	}
	return b.Address() + driver.Ptr(o.Offset)
}

// step is an operation done with own kernels.
type step struct {
	t         *Target
	o         *engine.Operation
	calls     func() ([]kernels.Call, error)
	workspace func(batch int) int       // nil for none
	fault     func(f FaultRecord) error // nil if the kernels find no faults, or only indices out of range
}

// Workspace implements Step.
func (s *step) Workspace(batch int) int {
	if s.workspace == nil {
		return 0
	}
	return s.workspace(batch)
}

// Bind implements Step. It leaves out calls without elements.
func (s *step) Bind() ([]Launch, error) {
	calls, err := s.calls()
	if err != nil {
		return nil, err
	}
	return Launches(s.t.Kernels, calls...), nil
}

// in and out return the addresses of operands.
func (s *step) in(i int) driver.Ptr  { return Address(s.o.In[i]) }
func (s *step) out(i int) driver.Ptr { return Address(s.o.Out[i]) }

// Launches returns the launches of calls of a library's kernels.
func Launches(l *kernels.Library, calls ...kernels.Call) []Launch {
	out := make([]Launch, len(calls))
	for i, c := range calls {
		out[i] = kernel{l, c}
	}
	return out
}

// kernel is one call.
type kernel struct {
	l *kernels.Library
	c kernels.Call
}

// Issue implements Launch.
func (k kernel) Issue(s driver.Stream) error { return k.l.Launch(s, k.c) }

// Copy is a Launch that copies within the GPU.
type Copy struct {
	Dst, Src driver.Ptr
	Bytes    int
}

// Issue implements Launch.
func (c Copy) Issue(s driver.Stream) error { return s.Copy(c.Dst, c.Src, c.Bytes) }

// need fails unless an operation has at least that many inputs and outputs.
func need(o *engine.Operation, in, out int) error {
	if len(o.In) < in || len(o.Out) < out {
		return fmt.Errorf("expected at least %d inputs and %d outputs, got %d and %d", in, out, len(o.In), len(o.Out))
	}
	return nil
}

// typed fails unless all operands have the element type.
func typed(d tensor.DType, of ...*engine.Operand) error {
	for _, o := range of {
		if o.Type.DType != d {
			return fmt.Errorf("expected elements of type %v, got %v", d, o.Type.DType)
		}
	}
	return nil
}

// ints returns the elements of an integer constant input.
func ints(o *engine.Operation, i int) ([]int, error) {
	if i >= len(o.In) || o.In[i].Constant == nil {
		return nil, fmt.Errorf("input %d: expected a constant", i)
	}
	out, err := convert.Ints(o.In[i].Constant)
	if err != nil {
		return nil, fmt.Errorf("input %d: %w", i, err)
	}
	return out, nil
}

// normalAxis returns an axis of a tensor of the given rank, counted from the front.
func normalAxis(a, rank int) (int, error) {
	if a < -rank || a >= rank {
		return 0, fmt.Errorf("axis %d: expected -%d <= axis < %d", a, rank, rank)
	}
	return (a + rank) % rank, nil
}
