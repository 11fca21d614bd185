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

// Kernels that compute have no code of their own for the two 16-bit float types. Their inputs are widened to float32, which is exact,
// the float32 kernel runs, and its result is rounded. If TensorFlow also rounds the steps of a computation, a kernel from
// steppedOps runs instead of the float32 one. Kernels that only move elements take all types and need nothing special.

// rounding rounds to a 16-bit type.
type rounding func(float32) float32

// roundings has the rounding to each type, to nearest with ties to even.
var roundings = map[tensor.DType]rounding{tensor.Float16: kernels.RoundHalf, tensor.BFloat16: kernels.RoundBrain}

// steps returns the maker of a float32 kernel that rounds like the 16-bit type.
type steps func(d tensor.DType) maker

// steppedOps has the ops with their own steps.
var steppedOps = sync.OnceValue(func() map[*ops.Def]steps {
	all := map[*ops.Def]steps{}
	for _, family := range []map[*ops.Def]steps{elementSteps(), sumSteps, productSteps} {
		maps.Copy(all, family)
	}
	return all
})

// halved adds 16-bit types to the maker m of an op.
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

// widens reports whether an op's kernels take 16-bit floats by way of float32. TensorFlow refuses these for QuantizeAndDequantize.
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

// widened has ops whose definitions allow elements of any type, and whose kernels compute.
var widened = sync.OnceValue(func() map[string]bool {
	return opNames(`ConjugateTranspose EditDistance Einsum Equal ListDiff LowerBound NotEqual ScatterNd SparseFillEmptyRowsGrad
		SparseTensorDenseMatMul TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub Unique UniqueV2 UniqueWithCounts
		UniqueWithCountsV2 UpperBound`)
})

// themselves has ops that compute, and whose kernels handle 16-bit floats themselves.
var themselves = sync.OnceValue(func() map[string]bool { return opNames("AddN AccumulateNV2 Cast") })

// opNames returns a set of names.
func opNames(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

// types reports whether an attribute states the type of an input or output.
func types(op *ops.Def, attr string) bool {
	of := func(a ops.Arg) bool { return a.TypeAttr == attr }
	return slices.ContainsFunc(op.Inputs(), of) || slices.ContainsFunc(op.Outputs(), of)
}

// halves has the attributes of a node that are 16-bit types.
type halves struct {
	op    *ops.Def
	attrs map[string]tensor.DType
	first tensor.DType
}

// kernel returns a kernel that widens the inputs of k, a float32 kernel, and rounds its outputs.
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

// retyped converts a tensor to another type.
func (c call) retyped(v *Value, d tensor.DType) error {
	t, err := recastTo(c, v.T, d)
	v.T = t
	return err
}

// halvesToo extends a kernel, whose inputs and result have the same type, to 16-bit floats.
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
