package eager

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// Kernels that compute have no code of their own for the two floats of 16 bits. Their inputs are widened to float32, which is exact,
// the kernel of float32 runs, and its result is rounded. Where TensorFlow rounds the steps of a computation too, the kernel is one of
// steppedOps in place of that of float32. Kernels that move elements, which take all types, are left as they are.

// rounding rounds to a type of 16 bits.
type rounding func(float32) float32

// roundings are those of the types, to nearest with ties to even.
var roundings = map[tensor.DType]rounding{tensor.Float16: kernels.RoundHalf, tensor.BFloat16: kernels.RoundBrain}

// steps are a maker of kernels on float32 that round as their type of 16 bits does.
type steps func(d tensor.DType) maker

// steppedOps are the ops with steps of their own.
var steppedOps = sync.OnceValue(func() map[*ops.Def]steps {
	all := map[*ops.Def]steps{}
	for _, family := range []map[*ops.Def]steps{elementSteps(), sumSteps, productSteps} {
		maps.Copy(all, family)
	}
	return all
})

// halved returns the maker m of an op, which takes no type of 16 bits, as one that does.
func halved(op *ops.Def, m maker) maker {
	if !widens(op) {
		return m
	}
	return func(s *site) (kernel, error) {
		h := halves{op: op, attrs: map[string]tensor.DType{}}
		n := *s.node
		n.Attrs = graph.Attrs{}
		for name, a := range s.node.Attrs {
			if d, ok := a.(tensor.DType); ok && d.Half() && types(op, name) {
				h.attrs[name], h.first, a = d, d, tensor.Float32
			}
			n.Attrs[name] = a
		}
		if len(h.attrs) == 0 {
			return m(s)
		}
		wide, make := &site{node: &n, outputs: s.outputs, generators: s.generators}, m
		if own := steppedOps()[op]; own != nil {
			make = own(h.first)
		}
		k, err := make(wide)
		s.outputs, s.err = wide.outputs, wide.err
		return h.kernel(k), err
	}
}

// widens reports whether the kernels of an op take 16-bit floats by way of float32. TensorFlow refuses these for QuantizeAndDequantize.
func widens(op *ops.Def) bool {
	if every()[op.Name] || themselves()[op.Name] || quantizeDequantizeOps[op] != nil || slices.ContainsFunc(slices.Concat(op.Inputs(), op.Outputs()), ops.Arg.Resource) {
		return false
	}
	return widened()[op.Name] || slices.ContainsFunc(op.Attrs(), func(a ops.Attr) bool { return a.Kind == "type" && slices.ContainsFunc(a.Types, tensor.DType.Half) })
}

// RoundsOnce reports whether the kernel of an op computes a 16-bit type in float32 and only rounds its results, to nearest.
func RoundsOnce(op *ops.Def, d tensor.DType) bool {
	return op != nil && d.Half() && widens(op) && !RoundsSteps(op, d)
}

// RoundsSteps reports whether the kernel of an op also rounds the steps of its computation, as TensorFlow does with 16-bit types.
func RoundsSteps(op *ops.Def, d tensor.DType) bool {
	switch {
	case !d.Half() || steppedOps()[op] == nil:
		return false
	case op == ops.Sum || op == ops.EuclideanNorm:
		return d == tensor.Float16
	}
	return true
}

// widened are the ops whose definitions let elements be of any type, and whose kernels compute.
var widened = sync.OnceValue(func() map[string]bool {
	return opNames(`ConjugateTranspose EditDistance Einsum Equal ListDiff LowerBound NotEqual ScatterNd SparseFillEmptyRowsGrad
		SparseTensorDenseMatMul TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub Unique UniqueV2 UniqueWithCounts
		UniqueWithCountsV2 UpperBound`)
})

// themselves are ops that compute, and whose kernels take 16-bit floats themselves.
var themselves = sync.OnceValue(func() map[string]bool { return opNames("AddN AccumulateNV2 Cast") })

// opNames is a set of names.
func opNames(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

// types reports whether an attribute states the type of an input or an output.
func types(op *ops.Def, attr string) bool {
	of := func(a ops.Arg) bool { return a.TypeAttr == attr }
	return slices.ContainsFunc(op.Inputs(), of) || slices.ContainsFunc(op.Outputs(), of)
}

// halves are the attributes of a node that are types of 16 bits.
type halves struct {
	op    *ops.Def
	attrs map[string]tensor.DType
	first tensor.DType
}

// kernel returns the kernel that widens inputs for k, a kernel of float32, and rounds its outputs.
func (h halves) kernel(k kernel) kernel {
	return func(c call) error {
		wide := c
		wide.in, wide.out = slices.Clone(c.in), make([]Value, len(c.out))
		for i, v := range c.in {
			d, ok := h.attrs[h.op.InputAt(i, len(c.in)).TypeAttr]
			if !ok || v.T == nil {
				continue
			}
			if err := want("input", v.T, d); err != nil {
				return err
			}
			if err := c.retyped(&wide.in[i], tensor.Float32); err != nil {
				return err
			}
		}
		if err := k(wide); err != nil {
			return err
		}
		for i := range wide.out {
			if d, ok := h.attrs[h.op.OutputAt(i, len(c.out)).TypeAttr]; ok && wide.out[i].T != nil {
				if err := c.retyped(&wide.out[i], d); err != nil {
					return err
				}
			}
		}
		copy(c.out, wide.out)
		return nil
	}
}

// retyped gives a tensor another type.
func (c call) retyped(v *Value, d tensor.DType) error {
	t, err := recastTo(c, v.T, d)
	v.T = t
	return err
}

// halvesToo is a kernel of tensors of one type, and of one result of that type, for 16-bit floats too.
func halvesToo(k kernel) kernel {
	return func(c call) error {
		d := c.t(0).DType
		if !d.Half() {
			return k(c)
		}
		if err := sameType(c.in); err != nil {
			return err
		}
		wide := c
		wide.in = slices.Clone(c.in)
		for i := range wide.in {
			if err := c.retyped(&wide.in[i], tensor.Float32); err != nil {
				return err
			}
		}
		if err := k(wide); err != nil {
			return err
		}
		return c.retyped(&c.out[0], d)
	}
}
