package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// lowering is a plan in the terms of an accelerator: operations with their operands, and segments of consecutive steps on
// one side.
type lowering struct {
	p    *plan
	dev  Accelerator
	vars *Variables

	operands  map[*value]*Operand
	variables map[*variable]*Operand
	all       map[*variable]bool // all variables: none are packed on the host
	host      hostSide

	once   [perRun][]segment // steps that do not run each time
	phases [][]segment
}

func newLowering(p *plan, dev Accelerator, vars *Variables) *lowering {
	l := &lowering{p: p, dev: dev, vars: vars, operands: map[*value]*Operand{}, variables: map[*variable]*Operand{}, all: map[*variable]bool{},
		host: hostSide{shadows: map[*variable]*shadow{}, mirrored: map[*value]bool{}}}
	vars.mu.RLock()
	defer vars.mu.RUnlock()
	for _, v := range vars.byName {
		l.all[v] = true
	}
	return l
}

// place decides where a step runs. Steps that do not run each time are small and run on the host if they can.
func (l *lowering) place(s *step) error {
	o := s.op
	once := o.frequency != perRun
	if once && l.hostForm(s) == nil {
		return nil
	}
	operation := l.operation(s)
	unsupported := l.dev.Supports(operation)
	if unsupported == nil {
		operation.Index = len(l.p.operations)
		l.p.operations = append(l.p.operations, operation)
		s.operation = operation
		return nil
	}
	if l.p.options.HardPlacement {
		return &UnsupportedOpError{Op: o.node.Op, Node: o.node.Name, Reason: fmt.Sprintf("%s: %v (soft placement would run it on the host)", l.dev.Kind(), unsupported), Placement: true}
	}
	if err := l.hostForm(s); err != nil {
		return &UnsupportedOpError{Op: o.node.Op, Node: o.node.Name, Reason: fmt.Sprintf("%s: %v; host: %v", l.dev.Kind(), unsupported, err)}
	}
	l.p.hostSteps = append(l.p.hostSteps, fmt.Sprintf("%s (%s): %v", o.node.Name, o.label(), unsupported))
	return nil
}

// hostForm compiles the step as Go code on the program's copies of variables.
func (l *lowering) hostForm(s *step) error {
	o := *s.op
	o.write = nil
	for _, v := range s.op.write {
		o.write = append(o.write, l.host.shadow(v).copy)
	}
	if o.reads != nil {
		o.reads = l.host.shadow(o.reads).copy
	}
	return s.bind(l.p, &o, l.all, &l.vars.weights)
}

// operation describes a step to the accelerator.
func (l *lowering) operation(s *step) *Operation {
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

// operand returns the Operand of a value, always the same one.
func (l *lowering) operand(in port) *Operand {
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

// typeOperand describes a value that has no place yet.
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

func (l *lowering) variable(name string) *Operand {
	l.vars.mu.RLock()
	v := l.vars.byName[name]
	l.vars.mu.RUnlock()
	if v == nil {
		return &Operand{Variable: true}
	}
	if l.variables[v] == nil {
		l.variables[v] = &Operand{Type: graph.Type{DType: v.dtype, Shape: graph.ShapeOf(v.shape...)}, Variable: true, Buffer: v.buf, Dims: v.shape, N: v.n}
	}
	return l.variables[v]
}
