package infer

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// elementRules are for elementwise ops whose definitions do not state the rule.
var elementRules = map[*ops.Def]rule{ops.IdentityN: each, ops.Select: selectShape, ops.SelectV2: selectV2, ops.EnsureShape: ensured, ops.LookupTableFind: lookup, ops.LookupTableFindV2: lookup,
	ops.StringJoin: join}

// stated has the rules that definitions name.
var stated = map[ops.ShapeRule]rule{ops.SameShape: same, ops.Broadcast: binary}

func same(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	v := Value{Known: true, Shape: x}
	switch s.n.Op {
	case "Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst":
		v.T = s.in[0].T
	}
	return []Value{v}, nil
}

// ensured: if nothing is known about the input, the shape is the one that the op demands.
func ensured(s *site) ([]Value, error) {
	if s.in[0].Known {
		return s.in[:1], nil
	}
	want, ok := s.n.Attrs["shape"].(graph.Shape)
	if !ok || want.UnknownRank {
		return nil, errUnknown
	}
	sizes := make([]int, want.Rank())
	for i, d := range want.Dims {
		if !d.Static() {
			return nil, errUnknown
		}
		sizes[i] = d.Const
	}
	return one(sizes...)
}

func each(s *site) ([]Value, error) { return slices.Clone(s.in), nil }

func binary(s *site) ([]Value, error) {
	a, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	b, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	out, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	return one(out...)
}

// selectShape: the condition of a Select has the shape of the choices, or is a vector for rows, or a scalar.
func selectShape(s *site) ([]Value, error) {
	x, err := s.shape(1)
	other, unknown := s.shape(2)
	switch {
	case err != nil && unknown != nil:
		return nil, err
	case err != nil:
		return one(other...)
	case unknown == nil && !slices.Equal(x, other):
		return nil, fmt.Errorf("choices of shapes %v and %v: expected one shape", x, other)
	}
	if c := s.in[0]; c.Known && len(c.Shape) > 0 && !slices.Equal(c.Shape, x) && !(len(c.Shape) == 1 && len(x) > 0 && c.Shape[0] == x[0]) {
		return nil, fmt.Errorf("a condition of shape %v for choices of shape %v", c.Shape, x)
	}
	return one(x...)
}

func selectV2(s *site) ([]Value, error) {
	var out []int
	for i := range 3 {
		x, err := s.shape(i)
		if err != nil {
			return nil, err
		}
		if out, err = broadcast(out, x); err != nil {
			return nil, err
		}
	}
	return one(out...)
}

// lookup: tables have scalar keys and values.
func lookup(s *site) ([]Value, error) {
	x, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	if d, err := s.shape(2); err != nil || len(d) != 0 {
		return nil, errUnknown
	}
	return one(x...)
}

func join(s *site) ([]Value, error) {
	var out []int
	for i := range s.in {
		x, err := s.shape(i)
		if err != nil {
			return nil, err
		}
		if len(x) > 0 {
			out = x
		}
	}
	return one(out...)
}
