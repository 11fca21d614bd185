package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// reduceOps fold dimensions away; input 1 holds the axes, a constant.
var reduceOps = map[*ops.Def]opDef{
	ops.Sum:    reduction(kernels.ReduceSum, fold[int32]{0, add[int32]}, fold[int64]{0, add[int64]}),
	ops.Prod:   reduction(kernels.ReduceProd, fold[int32]{1, mul[int32]}, fold[int64]{1, mul[int64]}),
	ops.Max:    reduction(kernels.ReduceMax, fold[int32]{math.MinInt32, larger[int32]}, fold[int64]{math.MinInt64, larger[int64]}),
	ops.Min:    reduction(kernels.ReduceMin, fold[int32]{math.MaxInt32, smaller[int32]}, fold[int64]{math.MaxInt64, smaller[int64]}),
	ops.Mean:   {compile: floats(reduceFloat[float32](kernels.ReduceMean), reduceFloat[float64](kernels.ReduceMean))},
	ops.All:    {compile: byType(map[tensor.DType]compileFunc{tensor.Bool: reduceAll}, out0)},
	ops.Any:    {compile: byType(map[tensor.DType]compileFunc{tensor.Bool: reduceBy(fold[bool]{false, func(a, b bool) bool { return a || b }})}, out0)},
	ops.L2Loss: {compile: floats(compileL2Loss[float32], compileL2Loss[float64])},
}

// fold is a reduction of elements one by one.
type fold[T any] struct {
	zero T
	f    func(a, b T) T
}

func reduction(op kernels.ReduceOp, i32 fold[int32], i64 fold[int64]) opDef {
	return opDef{compile: byType(map[tensor.DType]compileFunc{
		tensor.Float32: reduceFloat[float32](op), tensor.Float64: reduceFloat[float64](op),
		tensor.Int32: reduceBy(i32), tensor.Int64: reduceBy(i64)}, out0)}
}

// groups are x's dimensions, merged into runs that are either kept or reduced.
type groups struct {
	dims    []int
	reduced []bool
	stride  []int // steps in the result, 0 where reduced
	count   int   // elements of x for each of the result
}

// prepare merges the sizes of x; axes says which are reduced.
func (g *groups) prepare(x []int, axes []bool) {
	g.dims, g.reduced, g.stride, g.count = g.dims[:0], g.reduced[:0], g.stride[:0], 1
	for i, n := range x {
		if axes[i] {
			g.count *= n
		}
		if k := len(g.dims) - 1; k >= 0 && (n == 1 || g.reduced[k] == axes[i]) {
			g.dims[k] *= n
			continue
		}
		g.dims, g.reduced, g.stride = append(g.dims, n), append(g.reduced, axes[i]), append(g.stride, 0)
	}
	step := 1
	for k := len(g.dims) - 1; k >= 0; k-- {
		if !g.reduced[k] {
			g.stride[k] = step
			step *= g.dims[k]
		}
	}
}

// middle returns the sizes around a single reduced run, false if there are several.
func (g *groups) middle() (outer, n, inner int, ok bool) {
	outer, n, inner = 1, 1, 1
	seen := false
	for k, d := range g.dims {
		switch {
		case g.reduced[k] && seen:
			return 0, 0, 0, false
		case g.reduced[k]:
			n, seen = d, true
		case seen:
			inner *= d
		default:
			outer *= d
		}
	}
	return outer, n, inner, true
}

// reduced checks the inputs of a reduction and returns its groups, kept up to date with the batch.
func (c *binding) reduced() (*groups, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	list, err := c.ints(1)
	if err != nil {
		return nil, err
	}
	axes := make([]bool, x.typ.Shape.Rank())
	for _, a := range list {
		if a, err = normalAxis(a, len(axes)); err != nil {
			return nil, err
		}
		if axes[a] {
			return nil, fmt.Errorf("the axes name dimension %d twice", a)
		}
		axes[a] = true
	}
	if err := checkReduced(x.typ.Shape, out.typ.Shape, axes, c.node.Bool("keep_dims")); err != nil {
		return nil, err
	}
	g := &groups{}
	c.onBatch = func() error { g.prepare(x.dims, axes); return nil }
	return g, checkSame(x, out)
}

func checkReduced(x, out graph.Shape, axes []bool, keep bool) error {
	var want graph.Shape
	for i, d := range x.Dims {
		switch {
		case !axes[i]:
			want.Dims = append(want.Dims, d)
		case keep:
			want.Dims = append(want.Dims, graph.Fixed(1))
		}
	}
	if !slices.Equal(want.Dims, out.Dims) {
		return fmt.Errorf("reduction of %v: expected a result of shape %v, got %v", x, want, out)
	}
	return nil
}

func reduceFloat[T kernels.Float](op kernels.ReduceOp) compileFunc {
	slow := fold[T]{T(map[kernels.ReduceOp]float64{kernels.ReduceMax: math.Inf(-1), kernels.ReduceMin: math.Inf(1), kernels.ReduceProd: 1}[op]), add[T]}
	switch op {
	case kernels.ReduceMax:
		slow.f = larger[T]
	case kernels.ReduceMin:
		slow.f = smaller[T]
	case kernels.ReduceProd:
		slow.f = mul[T]
	}
	return func(c *binding) (runFunc, error) {
		g, err := c.reduced()
		if err != nil {
			return nil, err
		}
		x, out := c.in[0], c.out[0]
		return func() error {
			if outer, n, inner, ok := g.middle(); ok {
				kernels.Reduce(op, view[T](out), view[T](x), outer, n, inner)
				return nil
			}
			foldAll(g, slow, view[T](out), view[T](x))
			if op == kernels.ReduceMean {
				kernels.BinaryScalar(kernels.Div, view[T](out), view[T](out), T(g.count))
			}
			return nil
		}, nil
	}
}

func reduceBy[T tensor.Element](f fold[T]) compileFunc {
	return func(c *binding) (runFunc, error) {
		g, err := c.reduced()
		if err != nil {
			return nil, err
		}
		x, out := c.in[0], c.out[0]
		return func() error { foldAll(g, f, view[T](out), view[T](x)); return nil }, nil
	}
}

// reduceAll is All. With a single result it stops at the first false element.
func reduceAll(c *binding) (runFunc, error) {
	run, err := reduceBy(fold[bool]{true, func(a, b bool) bool { return a && b }})(c)
	if err != nil || c.out[0].typ.Shape.Rank() > 0 {
		return run, err
	}
	x, out := c.in[0], c.out[0]
	return func() error { view[bool](out)[0] = bytes.IndexByte(x.bytes(), 0) < 0; return nil }, nil
}

// foldAll walks x in order: the last run of dimensions in the inner loop.
func foldAll[T any](g *groups, f fold[T], out, x []T) {
	for i := range out {
		out[i] = f.zero
	}
	if len(g.dims) == 0 {
		out[0] = f.f(f.zero, x[0])
		return
	}
	last := len(g.dims) - 1
	n, step := g.dims[last], g.stride[last]
	for at := 0; n > 0 && at < len(x); at += n {
		o, rest := 0, at/n
		for k := last - 1; k >= 0; k-- {
			o += rest % g.dims[k] * g.stride[k]
			rest /= g.dims[k]
		}
		for _, e := range x[at : at+n] {
			out[o] = f.f(out[o], e)
			o += step
		}
	}
}

func compileL2Loss[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	return func() error { view[T](out)[0] = kernels.SumSquares(view[T](x)) / 2; return nil }, errors.Join(checkTypes[T](x, out), checkRank("result", out, 0))
}
