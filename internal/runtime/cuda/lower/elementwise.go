package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// elementwiseOps are regions of elementwise nodes, and single elementwise nodes. Their kernels are generated.
var elementwiseOps = elementwiseTable()

func elementwiseTable() map[*ops.Def]lowering {
	all := map[*ops.Def]lowering{ops.ElementwiseRegion: lowerRegion}
	for _, op := range ops.Defs() {
		if kernels.Elementwise(op.Name) {
			all[op] = lowerElement
		}
	}
	all[ops.ZerosLike] = lowerZeros
	return all
}

// chain is a generated kernel.
type chain struct {
	t  *Target
	o  *engine.Operation
	c  *kernels.Chain
	in []int // for each of the kernel's inputs, the operation's input
}

func lowerRegion(t *Target, o *engine.Operation) (Step, error) {
	if len(o.Sources) != len(o.In) || len(o.Results) != len(o.Out) {
		return nil, fmt.Errorf("expected operands for %d sources and %d results, got %d and %d", len(o.Sources), len(o.Results), len(o.In), len(o.Out))
	}
	return newChain(t, o, o.Body, o.Sources, o.Results)
}

// lowerElement makes a region of one node, with placeholder nodes of the inputs' types.
func lowerElement(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	n := &graph.Node{Name: o.Node.Name, Op: o.Node.Op, Attrs: o.Node.Attrs, Outputs: []graph.Type{o.Out[0].Type}}
	for _, in := range o.In {
		source := &graph.Node{Op: "Placeholder", Outputs: []graph.Type{in.Type}}
		n.Inputs = append(n.Inputs, source.Out(0))
	}
	return newChain(t, o, []*graph.Node{n}, n.Inputs, []graph.Output{n.Out(0)})
}

func newChain(t *Target, o *engine.Operation, nodes []*graph.Node, sources, results []graph.Output) (Step, error) {
	c, err := kernels.NewChain(nodes, results)
	if err != nil {
		return nil, err
	}
	s := &chain{t: t, o: o, c: c}
	for _, v := range c.Inputs {
		i := slices.Index(sources, v)
		if i < 0 {
			return nil, fmt.Errorf("input %s is neither a source nor the result of a part before", v.Node.Name)
		}
		s.in = append(s.in, i)
	}
	return s, nil
}

// Chain implements Generated.
func (s *chain) Chain() *kernels.Chain { return s.c }

// Workspace implements Step.
func (s *chain) Workspace(int) int { return 0 }

// Bind implements Step.
func (s *chain) Bind() ([]Launch, error) {
	if s.o.Out[0].N == 0 {
		return nil, nil
	}
	var in, out []driver.Ptr
	for _, i := range s.in {
		in = append(in, Address(s.o.In[i]))
	}
	for _, o := range s.o.Out {
		out = append(out, Address(o))
	}
	c, err := s.c.Call(out, in, s.o.Out[0].N, s.t.fault(s.o))
	if err != nil {
		return nil, err
	}
	return Launches(s.t.Kernels, c), nil
}

// Fault implements Faulter. Only integer divisions can have faults.
func (s *chain) Fault(f FaultRecord) error {
	return fmt.Errorf("integer division by zero at element %d", f.Position)
}

// lowerZeros does not read its input.
func lowerZeros(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	if o.Out[0].Type.DType.Size() == 0 {
		return nil, fmt.Errorf("element type %v is not supported", o.Out[0].Type.DType)
	}
	return fixed(func() []Launch { return []Launch{zeros(o.Out[0])} }), nil
}

// zeros clears an operand.
func zeros(o *engine.Operand) Launch { return clearing{Address(o), o.N * o.Type.DType.Size()} }

// clearing is a Launch that sets bytes to zero.
type clearing struct {
	at    driver.Ptr
	bytes int
}

// Issue implements Launch.
func (c clearing) Issue(s driver.Stream) error { return s.Fill(c.at, 0, c.bytes) }

// fixed is a Step without a workspace.
type fixed func() []Launch

// Workspace implements Step.
func (fixed) Workspace(int) int { return 0 }

// Bind implements Step.
func (f fixed) Bind() ([]Launch, error) { return f(), nil }
