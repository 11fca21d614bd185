package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// lowered is what a program on an accelerator has beside that of others: its steps are operations of the accelerator, or
// run on the host.
type lowered struct {
	p        *Program
	dev      Accelerator
	code     Code
	ops      []*Operation
	onHost   []string // steps of each run that the accelerator has no kernel for, and why
	operands map[*value]*Operand
	vars     map[*variable]*Operand
	all      map[*variable]bool // no weights are packed on the host: they live on the device
	moved    bool               // places are others than those that code knows
	consts   device.Buffer
	host     hostSide
	ahead    aheads
	deferred deferredError
	enqueued bool         // runs may be under way
	left     map[int]bool // fetches that stay on the device

	once   [perRun][]segment // what does not run each time
	phases [][]segment
}

// newLowered prepares for compilation; nil where the device runs Go code.
func newLowered(p *Program) *lowered {
	dev, ok := p.dev.(Accelerator)
	if !ok {
		return nil
	}
	return &lowered{p: p, dev: dev, operands: map[*value]*Operand{}, vars: map[*variable]*Operand{}, all: map[*variable]bool{},
		host: hostSide{shadows: map[*variable]*shadow{}, mirrored: map[*value]bool{}}}
}

// lower makes an operation of each step, or a step on the host.
func (l *lowered) lower() error {
	l.p.vars.mu.RLock()
	for _, v := range l.p.vars.byName {
		l.all[v] = true
	}
	l.p.vars.mu.RUnlock()
	var errs []error
	for _, s := range l.p.steps {
		errs = append(errs, l.place(s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	code, err := l.dev.Lower(l.ops, LowerOptions{TF32: l.p.opts.Precision == TF32})
	l.code = code
	return err
}

// place decides where a step runs. What does not run each time is small and runs on the host, if it can.
func (l *lowered) place(s *step) error {
	o := s.op
	once := o.frequency != perRun
	if once && l.hostForm(s) == nil {
		return nil
	}
	operation := l.operation(s)
	unsupported := l.dev.Supports(operation)
	if unsupported == nil {
		operation.Index = len(l.ops)
		l.ops = append(l.ops, operation)
		s.operation = operation
		return nil
	}
	if l.p.opts.HardPlacement {
		return &UnsupportedOpError{Op: o.node.Op, Node: o.node.Name, Reason: fmt.Sprintf("%s: %v (soft placement would run it on the host)", l.dev.Kind(), unsupported), Placement: true}
	}
	if err := l.hostForm(s); err != nil {
		return &UnsupportedOpError{Op: o.node.Op, Node: o.node.Name, Reason: fmt.Sprintf("%s: %v; host: %v", l.dev.Kind(), unsupported, err)}
	}
	l.onHost = append(l.onHost, fmt.Sprintf("%s (%s): %v", o.node.Name, o.label(), unsupported))
	return nil
}

// hostForm compiles the step as Go code on the program's copies of variables.
func (l *lowered) hostForm(s *step) error {
	o := *s.op
	o.write = nil
	for _, v := range s.op.write {
		o.write = append(o.write, l.host.shadow(v).copy)
	}
	if o.reads != nil {
		o.reads = l.host.shadow(o.reads).copy
	}
	c := &binding{node: o.node, op: &o, in: s.op.operands(s.in), out: s.out, changing: l.all, shared: &l.p.vars.weights}
	run, err := compileOp(c)
	l.p.weights = append(l.p.weights, c.weights...)
	if err != nil {
		return err
	}
	if o.guarded {
		run = guarded(run, s.in[len(s.in)-1])
	}
	s.compute, s.onBatch = run, c.onBatch
	return nil
}

// operation describes a step to the accelerator.
func (l *lowered) operation(s *step) *Operation {
	o := &Operation{Node: s.op.node}
	for _, in := range s.op.in {
		o.In = append(o.In, l.operand(in))
	}
	if last := len(o.In) - 1; s.op.guarded {
		o.In, o.Guard = o.In[:last], o.In[last]
	}
	for i := range s.out {
		o.Out = append(o.Out, l.operand(port{s.op, i}))
	}
	if r := s.op.fusion; r != nil {
		o.Body, o.Sources, o.Results = r.nodes, r.sources, r.results
	}
	return o
}

// operand describes a value, always by the same Operand.
func (l *lowered) operand(in port) *Operand {
	v := in.value()
	if v.typ.DType == tensor.Resource {
		return l.variable(variableName(in.op))
	}
	o := l.operands[v]
	if o == nil {
		o = typeOperand(in)
		o.Dims = v.dims
		l.operands[v] = o
	}
	return o
}

// typeOperand is what is known of a value before it has a place.
func typeOperand(in port) *Operand {
	o := &Operand{Type: typeOf(in)}
	src := storageOf(in)
	if src.op.feed >= 0 || src.op.node.Op != "Const" {
		return o
	}
	if t, err := constTensor(src.op.node); err == nil {
		o.Constant = &tensor.Tensor{DType: t.DType, Shape: o.Type.Shape.At(1), Bytes: t.Bytes}
	}
	return o
}

func (l *lowered) variable(name string) *Operand {
	l.p.vars.mu.RLock()
	v := l.p.vars.byName[name]
	l.p.vars.mu.RUnlock()
	if v == nil {
		return &Operand{Variable: true}
	}
	if l.vars[v] == nil {
		l.vars[v] = &Operand{Type: graph.Type{DType: v.dtype, Shape: graph.ShapeOf(v.shape...)}, Variable: true, Buffer: v.buf, Dims: v.shape, N: v.n}
	}
	return l.vars[v]
}

// uploadConstants brings the constants that operations or the caller read to the device, all into one buffer.
func (l *lowered) uploadConstants(ops []*op) error {
	p, size := l.p, 0
	var used []*op
	for _, o := range ops {
		if o.node.Op != "Const" || o.feed >= 0 {
			continue
		}
		t, err := constTensor(o.node)
		if err != nil {
			return err
		}
		v := o.out[0]
		v.mem = t.Bytes
		if l.host.onDevice[v] {
			v.off, used = size, append(used, o)
			size += alignUp(len(t.Bytes), acceleratorAlignment)
		}
	}
	if len(used) == 0 {
		return nil
	}
	buf, err := p.dev.Alloc(size)
	if err != nil {
		return fmt.Errorf("constants: %w", err)
	}
	l.consts, p.consts = buf, append(p.consts, buf)
	for _, o := range used {
		o.constant = buf
		if err := p.stream.Upload(buf, o.out[0].off, o.out[0].mem); err != nil {
			return fmt.Errorf("constant %s: %w", o.node.Name, err)
		}
	}
	return p.stream.Synchronize()
}

// workspaces returns what operations need for themselves, as values that live for one step.
func (l *lowered) workspaces(capacity int) []*value {
	var all []*value
	for _, s := range l.p.steps {
		if s.operation == nil {
			continue
		}
		n := max(l.code.Workspace(s.operation.Index, capacity), s.grown)
		s.workspace = nil
		if n == 0 {
			continue
		}
		at := -1 // beside the feeds
		if s.op.frequency == perRun {
			at = s.index
		}
		s.workspace = &value{size: n, def: at, last: at}
		all = append(all, s.workspace)
	}
	return all
}

// outgrown reports whether an operation needs a larger workspace for a batch than was planned.
func (l *lowered) outgrown(batch int) bool {
	grown := false
	for _, s := range l.p.steps {
		if s.operation == nil {
			continue
		}
		if n := l.code.Workspace(s.operation.Index, batch); n > s.operation.Workspace.N {
			s.grown, grown = n, true
		}
	}
	return grown
}

// locate tells operations where their operands are after a plan.
func (l *lowered) locate() {
	for v, o := range l.operands {
		base := v.base()
		o.Buffer, o.Offset = l.p.arena, base.off
		switch base.home {
		case nowhere:
			o.Buffer, o.Offset = nil, 0
		case inConst:
			o.Buffer = l.consts
		}
	}
	for _, op := range l.p.ops {
		for _, v := range op.out {
			if o := l.operands[v]; o != nil && v.base().home == inVariable {
				o.Buffer, o.Offset = readBy(op).buf, 0
			}
		}
	}
	for _, s := range l.p.steps {
		if s.operation != nil {
			s.operation.Workspace = Operand{Buffer: l.p.arena}
			if w := s.workspace; w != nil {
				s.operation.Workspace.Offset, s.operation.Workspace.N = w.off, w.size
			}
		}
	}
	l.moved = true
}

// readBy returns the variable whose storage an op's output is.
func readBy(o *op) *variable { return storageOf(port{o, 0}).op.reads }

// bind tells the code the sizes of a batch.
func (l *lowered) bind(batch int) error {
	for v, o := range l.operands {
		o.N = v.n
	}
	moved := l.moved
	l.moved = false
	if err := l.code.Bind(batch, moved); err != nil {
		l.moved = l.moved || moved
		return fmt.Errorf("prepare a batch of %d on %s: %w", batch, l.dev.Kind(), l.nameFault(err))
	}
	return nil
}

// nameFault tells the node of a fault.
func (l *lowered) nameFault(err error) error {
	var fault *FaultError
	if !errors.As(err, &fault) || fault.Operation < 0 || fault.Operation >= len(l.ops) {
		return err
	}
	n := l.ops[fault.Operation].Node
	return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, fault.Err)
}

// HostSteps returns the steps of each run that are done on the host since the accelerator has no kernel for them: node,
// op and reason. It is empty on other devices.
func (p *Program) HostSteps() []string {
	if p.lowered == nil {
		return nil
	}
	return slices.Clone(p.lowered.onHost)
}

// DeviceSteps returns how many steps of each run the device does.
func (p *Program) DeviceSteps() int { return len(p.byFrequency[perRun]) - len(p.HostSteps()) }

// close gives back what is the program's alone.
func (l *lowered) close() error {
	errs := []error{l.ahead.close(), l.host.close()}
	if l.code != nil {
		errs = append(errs, l.code.Close())
	}
	return errors.Join(errs...)
}
