package eager

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/runtime/topn"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// scanOps run along one dimension.
var scanOps = map[*ops.Def]maker{
	ops.ArgMax:   argMax(false),
	ops.ArgMin:   argMax(true),
	ops.Cumsum:   cumulate(false),
	ops.Cumprod:  cumulate(true),
	ops.TopKV2:   topK,
	ops.TopK:     topK,
	ops.InTopKV2: plain(inTopK),
}

// lane is one dimension of a tensor of outer*n*inner elements.
type lane struct{ outer, n, inner int }

func laneOf(shape []int, k int) lane {
	return lane{product(shape[:k]), shape[k], product(shape[k+1:])}
}

// each calls f with the number of every line along the lane, in order, and the index of its first element.
func (l lane) each(f func(line, first int)) {
	if l.inner == 0 {
		return
	}
	for i := range l.outer {
		for j := range l.inner {
			f(i*l.inner+j, i*l.n*l.inner+j)
		}
	}
}

func argMax(least bool) maker {
	return func(s *site) (kernel, error) {
		d := s.dtype("output_type", tensor.Int64)
		return numbers(argOf[float32](d, least), argOf[float64](d, least), argOf[int8](d, least), argOf[int16](d, least), argOf[int32](d, least),
			argOf[int64](d, least), argOf[uint8](d, least), argOf[uint16](d, least), argOf[uint32](d, least), argOf[uint64](d, least)).on(0), nil
	}
}

func argOf[T number](d tensor.DType, least bool) kernel {
	return func(c call) error {
		t := c.t(0)
		if err := rank("dimension", c.t(1), 0); err != nil {
			return err
		}
		k, err := axisOf("dimension", c.t(1), len(t.Shape))
		if err != nil {
			return err
		}
		l := laneOf(t.Shape, k)
		if l.n == 0 {
			return fmt.Errorf("Reduction axis %d is empty in shape %v", k, t.Shape)
		}
		src, out := tensor.Values[T](t), make([]int, l.outer*l.inner)
		l.each(func(line, first int) {
			best := src[first]
			for i := 1; i < l.n; i++ {
				if v := src[first+i*l.inner]; v > best && !least || v < best && least || best != best && v == v {
					best, out[line] = v, i
				}
			}
		})
		return c.outputInts(0, d, out, slices.Concat(t.Shape[:k], t.Shape[k+1:])...)
	}
}

func cumulate(times bool) maker {
	return func(s *site) (kernel, error) {
		e, r := s.boolean("exclusive", false), s.boolean("reverse", false)
		all := numbers(cumulateOf[float32](times, e, r), cumulateOf[float64](times, e, r), cumulateOf[int8](times, e, r), cumulateOf[int16](times, e, r), cumulateOf[int32](times, e, r),
			cumulateOf[int64](times, e, r), cumulateOf[uint8](times, e, r), cumulateOf[uint16](times, e, r), cumulateOf[uint32](times, e, r), cumulateOf[uint64](times, e, r))
		return all.complexes(cumulateOf[complex64](times, e, r), cumulateOf[complex128](times, e, r)).on(0), nil
	}
}

func cumulateOf[T arithmetical](times, exclusive, backwards bool) kernel {
	if times {
		return cumulateBy(1, func(a, b T) T { return a * b }, exclusive, backwards)
	}
	return cumulateBy(0, func(a, b T) T { return a + b }, exclusive, backwards)
}

// cumulateBy accumulates the elements along a dimension by join, from start on.
func cumulateBy[T arithmetical](start T, join func(a, b T) T, exclusive, backwards bool) kernel {
	return func(c call) error {
		t := c.t(0)
		if err := rank("axis", c.t(1), 0); err != nil {
			return err
		}
		k, err := axisOf("axis", c.t(1), len(t.Shape))
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, t.Shape...)
		if err != nil {
			return err
		}
		l, src := laneOf(t.Shape, k), tensor.Values[T](t)
		l.each(func(_, first int) {
			acc := start
			for i := range l.n {
				if backwards {
					i = l.n - 1 - i
				}
				at := first + i*l.inner
				before := acc
				acc = join(acc, src[at])
				if dst[at] = acc; exclusive {
					dst[at] = before
				}
			}
		})
		return nil
	}
}

func topK(s *site) (kernel, error) {
	fixed := s.node.Int("k", 0)
	d := s.dtype("index_type", tensor.Int32)
	on := numbers(topOf[float32](d, fixed), topOf[float64](d, fixed), topOf[int8](d, fixed), topOf[int16](d, fixed), topOf[int32](d, fixed),
		topOf[int64](d, fixed), topOf[uint8](d, fixed), topOf[uint16](d, fixed), topOf[uint32](d, fixed), topOf[uint64](d, fixed))
	return on.on(0), nil
}

func topOf[T number](d tensor.DType, k int) kernel {
	return func(c call) error {
		t, k := c.t(0), k
		if len(c.in) > 1 {
			var err error
			if k, err = integer("k", c.t(1)); err != nil {
				return err
			}
		}
		r := len(t.Shape) - 1
		if r < 0 || k < 0 || k > t.Shape[r] {
			return fmt.Errorf("input must have at least k columns. Had %v, needed %d", t.Shape, k)
		}
		shape := append(slices.Clone(t.Shape[:r]), k)
		values, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		n := t.Shape[r]
		all := make([]int, 0, len(values))
		order, at := make([]int, n), make([]int32, k)
		src := tensor.Values[T](t)
		for i := 0; i < len(src) && k > 0; i += n {
			row := src[i : i+n]
			if slices.ContainsFunc(row, func(v T) bool { return v != v }) {
				topn.Row(values[len(all):len(all)+k], at, row)
				for _, p := range at {
					all = append(all, int(p))
				}
				continue
			}
			for j := range order {
				order[j] = j
			}
			slices.SortStableFunc(order, func(a, b int) int {
				switch x, y := row[a], row[b]; {
				case x > y:
					return -1
				case x < y:
					return 1
				}
				return 0
			})
			for j, v := range order[:k] {
				values[len(all)+j] = row[v]
			}
			all = append(all, order[:k]...)
		}
		return c.outputInts(1, d, all, shape...)
	}
}
