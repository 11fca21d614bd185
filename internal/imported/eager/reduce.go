package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// reduceOps reduce dimensions.
var reduceOps = reduceTable()

func reduceTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{
		ops.All: boolReduce(true),
		ops.Any: boolReduce(false),
	}
	for _, op := range []*ops.Def{ops.Sum, ops.Mean, ops.Max, ops.Min, ops.Prod, ops.EuclideanNorm} {
		all[op] = reduceMaker(op)
	}
	return all
}

func reduceMaker(op *ops.Def) maker {
	return func(s *site) (kernel, error) {
		keep := s.boolean("keep_dims", false)
		all := numbers(floatReduce[float32](op, keep), floatReduce[float64](op, keep), intReduce[int8](op, keep), intReduce[int16](op, keep), intReduce[int32](op, keep),
			intReduce[int64](op, keep), intReduce[uint8](op, keep), intReduce[uint16](op, keep), intReduce[uint32](op, keep), intReduce[uint64](op, keep))
		if op == ops.Sum || op == ops.Mean || op == ops.Prod {
			all.complexes(complexReduce[complex64](op, keep), complexReduce[complex128](op, keep))
		}
		return all.on(0), nil
	}
}

// span maps each input element of a reduction to its output element.
type span struct {
	in, out []int
	steps   []int // in the output, per dimension of the input; 0 for reduced ones
	count   int   // input elements per output element
}

// reduced resolves the reduction of a shape over the dimensions in axes.
func reduced(in []int, axes *tensor.Tensor, keep bool) (span, error) {
	r := span{in: in, steps: make([]int, len(in)), count: 1}
	dims, err := integers("reduction_indices", axes)
	if err != nil {
		return r, err
	}
	gone := make([]bool, len(in))
	for _, d := range dims {
		k, err := axis("reduction_indices", d, len(in))
		if err != nil {
			return r, err
		}
		if gone[k] {
			return r, fmt.Errorf("invalid reduction arguments: axes contains duplicate dimension: %d", k)
		}
		gone[k] = true
	}
	kept := make([]int, len(in))
	for k, d := range in {
		kept[k] = d
		if gone[k] {
			kept[k] = 1
			r.count *= d
		}
		if !gone[k] || keep {
			r.out = append(r.out, kept[k])
		}
	}
	r.steps = contiguous(kept).steps
	for k := range gone {
		if gone[k] {
			r.steps[k] = 0
		}
	}
	return r, nil
}

// walk calls f with the index of every input element, in order,
// and the index of its output element.
func (r span) walk(f func(i, o int)) {
	if slices.Contains(r.in, 0) {
		return
	}
	i := 0
	var dim func(k, o int)
	dim = func(k, o int) {
		if k == len(r.in) {
			f(i, o)
			i++
			return
		}
		if k == len(r.in)-1 {
			for range r.in[k] {
				f(i, o)
				i, o = i+1, o+r.steps[k]
			}
			return
		}
		for range r.in[k] {
			dim(k+1, o)
			o += r.steps[k]
		}
	}
	dim(0, 0)
}

// floatReduce adds and multiplies in float64, whatever the element type.
func floatReduce[T float](op *ops.Def, keep bool) kernel {
	return func(c call) error {
		r, err := reduced(c.t(0).Shape, c.t(1), keep)
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, r.out...)
		if err != nil {
			return err
		}
		acc := make([]float64, len(dst))
		src := tensor.Values[T](c.t(0))
		fold(op, r, acc, func(i int) float64 { return float64(src[i]) }, [2]float64{math.Inf(-1), math.Inf(1)})
		for i, v := range acc {
			switch op {
			case ops.Mean:
				v /= float64(r.count)
			case ops.EuclideanNorm:
				v = math.Sqrt(v)
			}
			dst[i] = T(v)
		}
		return nil
	}
}

func intReduce[T integral](op *ops.Def, keep bool) kernel {
	return func(c call) error {
		r, err := reduced(c.t(0).Shape, c.t(1), keep)
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, r.out...)
		if err != nil {
			return err
		}
		src := tensor.Values[T](c.t(0))
		fold(op, r, dst, func(i int) T { return src[i] }, [2]T{lowest[T](), highest[T]()})
		for i, v := range dst {
			switch {
			case op == ops.Mean && r.count > 0:
				dst[i] = T(float64(v) / float64(r.count))
			case op == ops.EuclideanNorm:
				dst[i] = T(math.Sqrt(float64(v)))
			}
		}
		return nil
	}
}

// fold reduces elements into acc; ends are the initial values of Max and Min.
func fold[A number](op *ops.Def, r span, acc []A, elem func(i int) A, ends [2]A) {
	start := map[*ops.Def]A{ops.Max: ends[0], ops.Min: ends[1], ops.Prod: 1}[op]
	for i := range acc {
		acc[i] = start
	}
	switch op {
	case ops.Max:
		r.walk(func(i, o int) { acc[o] = max(acc[o], elem(i)) })
	case ops.Min:
		r.walk(func(i, o int) { acc[o] = min(acc[o], elem(i)) })
	case ops.Prod:
		r.walk(func(i, o int) { acc[o] *= elem(i) })
	case ops.EuclideanNorm:
		r.walk(func(i, o int) { acc[o] += elem(i) * elem(i) })
	default:
		r.walk(func(i, o int) { acc[o] += elem(i) })
	}
}

func boolReduce(all bool) maker {
	return func(s *site) (kernel, error) {
		keep := s.boolean("keep_dims", false)
		return func(c call) error {
			if err := want("input", c.t(0), tensor.Bool); err != nil {
				return err
			}
			r, err := reduced(c.t(0).Shape, c.t(1), keep)
			if err != nil {
				return err
			}
			dst, err := outputOf[bool](c, 0, r.out...)
			if err != nil {
				return err
			}
			for i := range dst {
				dst[i] = all
			}
			src := tensor.Values[bool](c.t(0))
			r.walk(func(i, o int) {
				if src[i] != all {
					dst[o] = !all
				}
			})
			return nil
		}, nil
	}
}
