package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// region returns a region of the operation.
func (x *site) region(i int) *stablehlo.Region {
	if i >= len(x.op.Regions) {
		refuse("region %d is missing", i)
	}
	return x.op.Regions[i]
}

// apply computes a scalar region for all elements of tensors at once.
func (x *site) apply(r *stablehlo.Region, args ...*value) []*value {
	s := x.scope.inner(x.builder)
	s.each = true
	return s.results(r, args)
}

// ask computes a scalar region for constants, and returns its first result.
func (x *site) ask(r *stablehlo.Region, args ...*value) *tensor.Tensor {
	out := x.apply(r, args...)
	if len(out) == 0 || out[0].t == nil {
		refuse("a region that depends on more than its arguments")
	}
	return out[0].t
}

// only returns the only operation of a region of two arguments: "return" if it returns the second argument, "" for other regions.
func only(r *stablehlo.Region) string {
	switch {
	case len(r.Args) != 2:
	case len(r.Ops) == 1 && r.Ops[0].Name == "return" && slices.Equal(r.Ops[0].Operands, r.Args[1:]):
		return "return"
	case len(r.Ops) != 2 || len(r.Ops[0].Operands) != 2 || !slices.Equal(r.Ops[1].Operands, r.Ops[0].Results):
	case !slices.Contains(r.Ops[0].Operands, r.Args[0]) || !slices.Contains(r.Ops[0].Operands, r.Args[1]):
	case commutative[r.Ops[0].Name]:
		return r.Ops[0].Name
	}
	return ""
}

// commutative has the operations whose operands may be swapped.
var commutative = map[string]bool{"add": true, "multiply": true, "maximum": true, "minimum": true, "and": true, "or": true, "xor": true}

// vector returns a constant vector.
func vector(d tensor.DType, all ...float64) *value {
	t := tensor.New(d, len(all))
	for i, v := range all {
		copy(t.Bytes[i*d.Size():], scalar(d, v).t.Bytes)
	}
	return constant(t)
}
