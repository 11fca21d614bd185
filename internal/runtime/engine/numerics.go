package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// checkNumerics fails if an output of the step has a NaN or an infinity that the graph does not handle.
func (s *step) checkNumerics() error {
	if s.op.mayOverflow {
		return nil
	}
	for i, v := range s.out {
		finite, nan := finiteValue(v)
		if finite {
			continue
		}
		for _, in := range s.op.in { // for a bad feed or variable, name that instead
			src := storageOf(in)
			if src.op.feed < 0 && src.op.reads == nil {
				continue
			}
			if ok, inNaN := finiteValue(src.value()); !ok {
				return &NumericsError{Op: src.op.node.Op, Node: src.op.node.Name, Output: src.idx, NaN: inNaN, Fed: src.op.feed >= 0, Read: src.op.reads != nil}
			}
		}
		return &NumericsError{Op: s.op.node.Op, Node: s.op.node.Name, Output: i, NaN: nan}
	}
	return nil
}

func finiteValue(v *value) (finite, nan bool) {
	switch v.typ.DType {
	case tensor.Float32:
		return finiteSlice(view[float32](v))
	case tensor.BFloat16:
		return finiteHalves(view[uint16](v))
	case tensor.Float64:
		return finiteSlice(view[float64](v))
	}
	return true, false
}

// finiteHalves looks at the exponents of bfloat16.
func finiteHalves(x []uint16) (finite, nan bool) {
	for _, e := range x {
		if e&0x7f80 == 0x7f80 {
			return false, e&0x7f != 0
		}
	}
	return true, false
}

func finiteSlice[T kernels.Float](x []T) (finite, nan bool) {
	for _, e := range x {
		if e-e != 0 { // NaN or an infinity
			return false, math.IsNaN(float64(e))
		}
	}
	return true, false
}

// markOverflow finds the ops whose results may overflow: ops with graph.MayOverflow and all that depend on them.
func markOverflow(sorted []*op) {
	for _, o := range sorted {
		o.mayOverflow = o.feed < 0 && o.node.Bool(graph.MayOverflow)
		for _, in := range o.in {
			o.mayOverflow = o.mayOverflow || in.op.mayOverflow
		}
	}
}
