package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// linearOps are matrix products and related ops.
var linearOps = map[*ops.Def]maker{
	ops.MatMul:        matMul,
	ops.SparseMatMul:  matMul,
	ops.BatchMatMul:   batchMatMul,
	ops.BatchMatMulV2: batchMatMul,
	ops.BatchMatMulV3: batchMatMul,
	ops.BiasAdd:       biasAdd,
	ops.BiasAddV1:     biasAdd,
	ops.Softmax:       plain(floats(softmax(kernels.Softmax[float32]), softmax(kernels.Softmax[float64])).on(0)),
	ops.LogSoftmax:    plain(floats(softmax(kernels.LogSoftmax[float32]), softmax(kernels.LogSoftmax[float64])).on(0)),
	ops.L2Loss:        plain(floats(l2Loss[float32], l2Loss[float64]).on(0)),
	ops.AddN:          plain(addN),
}

// product2 is a matrix product of op(a) [m,k] and op(b) [k,n].
type product2 struct {
	m, n, k        int
	transA, transB bool
}

// productOf checks the last two dimensions of the operands.
func productOf(a, b []int, transA, transB bool) (product2, error) {
	p := product2{transA: transA, transB: transB}
	var kb int
	if p.m, p.k = a[len(a)-2], a[len(a)-1]; transA {
		p.m, p.k = p.k, p.m
	}
	if kb, p.n = b[len(b)-2], b[len(b)-1]; transB {
		kb, p.n = p.n, kb
	}
	if kb != p.k {
		return p, fmt.Errorf("Matrix size-incompatible: In[0]: %v, In[1]: %v", a, b)
	}
	return p, nil
}

// dense is the product of floats, by internal/runtime/kernels.
func dense[T float](p product2, c, a, b []T) {
	if p.m == 0 || p.n == 0 || p.k == 0 {
		return // c is zero already
	}
	g := kernels.GemmArgs[T]{M: p.m, N: p.n, K: p.k, Alpha: 1, A: a, LDA: p.k, TransA: p.transA, B: b, LDB: p.n, TransB: p.transB, C: c, LDC: p.n}
	if p.transA {
		g.LDA = p.m
	}
	if p.transB {
		g.LDB = p.k
	}
	kernels.Gemm(g)
}

// whole is the product of integers and complex numbers.
func whole[T integral | complexNumber](p product2, c, a, b []T) {
	for i := range p.m {
		for j := range p.n {
			var sum T
			for k := range p.k {
				x, y := i*p.k+k, k*p.n+j
				if p.transA {
					x = k*p.m + i
				}
				if p.transB {
					y = j*p.k + k
				}
				sum += a[x] * b[y]
			}
			c[i*p.n+j] = sum
		}
	}
}

// multiplier returns the kernels of products along the last two dimensions; the others are broadcast.
func multiplier(transA, transB bool) *typed {
	all := numbers(batched(transA, transB, dense[float32]), batched(transA, transB, dense[float64]), nil, nil,
		batched(transA, transB, whole[int32]), batched(transA, transB, whole[int64]), nil, nil, nil, nil)
	return all.complexes(batched(transA, transB, whole[complex64]), batched(transA, transB, whole[complex128]))
}

func matMul(s *site) (kernel, error) { return matMulBy(s, allMultiplier) }

// allMultiplier is multiplier for all types.
func allMultiplier(transA, transB bool) kernel { return multiplier(transA, transB).on(0) }

func matMulBy(s *site, of multiplying) (kernel, error) {
	k := of(s.boolean("transpose_a", false), s.boolean("transpose_b", false))
	return func(c call) error {
		if len(c.t(0).Shape) != 2 || len(c.t(1).Shape) != 2 {
			return fmt.Errorf("expected matrices, got shapes %v and %v", c.t(0).Shape, c.t(1).Shape)
		}
		return k(c)
	}, nil
}

func batchMatMul(s *site) (kernel, error) { return batchMatMulBy(s, adjoints) }

func batchMatMulBy(s *site, of multiplying) (kernel, error) {
	k := of(s.boolean("adj_x", false), s.boolean("adj_y", false))
	switch s.node.Op {
	case ops.BatchMatMulV2.Name:
		return k, nil
	case ops.BatchMatMulV3.Name:
		return ofOneType(s.dtype("Tout", tensor.Invalid), k), nil
	}
	return func(c call) error { // the first version does not broadcast
		a, b := c.t(0).Shape, c.t(1).Shape
		if len(a) != len(b) || !slices.Equal(a[:max(len(a)-2, 0)], b[:max(len(b)-2, 0)]) {
			return fmt.Errorf("expected the same batch dimensions, got shapes %v and %v", a, b)
		}
		return k(c)
	}, nil
}

// ofOneType is a kernel of two operands that are converted to the result's element type.
func ofOneType(d tensor.DType, k kernel) kernel {
	return func(c call) error {
		in := slices.Clone(c.in)
		for i := range in {
			t, err := c.t(i), error(nil)
			if t.DType != d && d != tensor.Invalid {
				t, err = recastTo(c, t, d)
			}
			if err != nil {
				return err
			}
			in[i].T = t
		}
		c.in = in
		return k(c)
	}
}

func batched[T arithmetical](transA, transB bool, f func(p product2, c, a, b []T)) kernel {
	return func(c call) error {
		if err := sameType(c.in); err != nil {
			return err
		}
		sa, sb := c.t(0).Shape, c.t(1).Shape
		if len(sa) < 2 || len(sb) < 2 {
			return fmt.Errorf("expected at least matrices, got shapes %v and %v", sa, sb)
		}
		p, err := productOf(sa, sb, transA, transB)
		if err != nil {
			return err
		}
		ba, bb := sa[:len(sa)-2], sb[:len(sb)-2]
		lead, err := broadcastShape(ba, bb)
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, append(slices.Clone(lead), p.m, p.n)...)
		if err != nil || len(dst) == 0 {
			return err
		}
		a, b := tensor.Values[T](c.t(0)), tensor.Values[T](c.t(1))
		if p.k == 0 {
			return nil
		}
		return eachPair(lead, ba, bb, func(i, x, y int) error {
			f(p, dst[i*p.m*p.n:(i+1)*p.m*p.n], a[x*p.m*p.k:(x+1)*p.m*p.k], b[y*p.k*p.n:(y+1)*p.k*p.n])
			return nil
		})
	}
}

func biasAdd(s *site) (kernel, error) {
	channels := s.str("data_format", "NHWC") == "NCHW"
	add := arithmetic(ops.AddV2)
	return func(c call) error {
		x, b := c.t(0), c.t(1)
		k := len(x.Shape) - 1
		if channels {
			k = 1
		}
		if len(b.Shape) != 1 || k < 1 || k >= len(x.Shape) || x.Shape[k] != b.Shape[0] {
			return fmt.Errorf("must provide as many biases as the last dimension of the input tensor: %v vs. %v", b.Shape, x.Shape)
		}
		shape := slices.Repeat([]int{1}, len(x.Shape)-k)
		shape[0] = b.Shape[0]
		c.in = []Value{c.in[0], {T: reshaped(b, shape...)}}
		return add(c)
	}, nil
}

func softmax[T float](f func(dst, x []T, rows, cols int)) kernel {
	return func(c call) error {
		x := c.t(0)
		if len(x.Shape) == 0 {
			return fmt.Errorf("logits must have >= 1 dimension, got %v", x.Shape)
		}
		dst, err := outputOf[T](c, 0, x.Shape...)
		if err != nil || len(dst) == 0 {
			return err
		}
		cols := x.Shape[len(x.Shape)-1]
		f(dst, tensor.Values[T](x), len(dst)/cols, cols)
		return nil
	}
}

func l2Loss[T float](c call) error {
	sum := 0.0
	for _, v := range tensor.Values[T](c.t(0)) {
		sum += float64(v) * float64(v)
	}
	c.set(0, tensor.Scalar(T(sum/2)))
	return nil
}

var addPair = halvesToo(arithmetic(ops.AddV2))

func addN(c call) error {
	if len(c.in) == 0 {
		return fmt.Errorf("expected at least one input")
	}
	sum := c.in[0]
	for i, v := range c.in[1:] {
		if sum.T != nil && v.T != nil && !slices.Equal(v.T.Shape, sum.T.Shape) {
			return fmt.Errorf("Inputs to operation must have the same size and shape. Input 0: %v != input %d: %v", sum.T.Shape, i+1, v.T.Shape)
		}
		var err error
		if sum, err = c.sum(sum, v); err != nil {
			return err
		}
	}
	c.out[0] = sum
	return nil
}

// inTopK returns whether the prediction for each target is among the k largest, ties included.
func inTopK(c call) error {
	p, targets := c.t(0), c.t(1)
	if p.DType != tensor.Float32 || len(p.Shape) != 2 || len(targets.Shape) != 1 || targets.Shape[0] != p.Shape[0] {
		return fmt.Errorf("expected float32 predictions [n,classes] and targets [n], got shapes %v and %v", p.Shape, targets.Shape)
	}
	ids, err := c.integers("targets", targets)
	if err != nil {
		return err
	}
	k, err := integer("k", c.t(2))
	if err != nil {
		return err
	}
	dst, err := outputOf[bool](c, 0, len(ids))
	if err != nil {
		return err
	}
	n := p.Shape[1]
	for i, id := range ids {
		if id < 0 || id >= n {
			continue
		}
		row, larger, finite := tensor.Values[float32](p)[i*n:(i+1)*n], 0, true
		for _, v := range row {
			if finite = finite && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0); v > row[id] {
				larger++
			}
		}
		dst[i] = finite && larger < k
	}
	return nil
}
