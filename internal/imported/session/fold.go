package session

import (
	"context"
	"errors"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
)

// maxFolded bounds the elements of values computed during shape inference.
const maxFolded = 4096

// node returns what is known about a node's outputs: by its rule, and if all inputs are known, by computing it.
func (p *plan) node(n *graph.Node, in []infer.Value) ([]infer.Value, error) {
	switch n.Op {
	case "ReadVariableOp", "ResourceGather", "VariableShape":
		return p.variableNode(n, in)
	}
	out, err := infer.Node(n, in)
	if err != nil || len(in) == 0 || len(out) == 0 || !folds(n.Op) || len(eager.Called(n)) > 0 { // loops may be long
		return out, err
	}
	total := 0
	values := make([]eager.Value, len(in))
	for i, v := range in {
		if v.T == nil {
			return out, nil
		}
		total += v.T.Len()
		values[i].T = v.T
	}
	for _, v := range out {
		if elements, err := infer.Elements(v.Shape); v.Known && err == nil {
			total += elements
		}
	}
	if total > maxFolded || out[0].T != nil {
		return out, nil
	}
	k, err := p.kernel(n)
	if err != nil {
		return out, nil
	}
	results := make([]eager.Value, len(out))
	if err := k(context.Background(), &eager.Env{Limit: 1 << 20}, values, results); err != nil {
		if errors.Is(err, eager.ErrLimit) || errors.Is(err, eager.ErrUnsupported) {
			return out, nil
		}
		return nil, err
	}
	for i, r := range results {
		if r.T != nil {
			out[i] = infer.Of(r.T)
		}
	}
	return out, nil
}

// folds reports whether an op with known inputs has a known result: it has no state or randomness, and reads no files.
func folds(op string) bool {
	d := ops.Find(op)
	return d != nil && d.State == ops.Pure
}

// kernel returns a node's kernel.
func (p *plan) kernel(n *graph.Node) (eager.Kernel, error) {
	if k := p.kernels[n]; k != nil {
		return k, nil
	}
	k, err := eager.Prepare(n)
	if err == nil {
		p.kernels[n] = k
	}
	return k, err
}

// variableNode infers reads of variables.
func (p *plan) variableNode(n *graph.Node, in []infer.Value) ([]infer.Value, error) {
	unknown := make([]infer.Value, len(n.Outputs))
	name, ok := p.s.vars.readBy(n)
	if !ok || len(n.Outputs) == 0 || p.s.vars.updated[name] {
		return unknown, nil
	}
	typ, ok := p.s.vars.typ(name)
	sizes := typ.Shape.At(1)
	switch {
	case !ok || n.Op == "VariableShape":
		return unknown, nil
	case n.Op == "ReadVariableOp":
		unknown[0] = infer.Shaped(sizes...)
	case len(in) > 1 && in[1].Known && len(sizes) > 0 && n.Int("batch_dims", 0) == 0:
		unknown[0] = infer.Shaped(slices.Concat(in[1].Shape, sizes[1:])...)
	}
	return unknown, nil
}
