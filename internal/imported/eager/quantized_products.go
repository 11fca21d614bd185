package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedOperands are two 8-bit tensors, their zero points and the range of the sums of their products.
type quantizedOperands struct {
	x, y         []uint8
	zeroX, zeroY int32
	out          numberRange
}

// product reads inputs 0 and 1 and the ranges that follow them.
func (c call) product() (p quantizedOperands, a, b numberRange, err error) {
	q := quantizedTypes[tensor.QUint8]
	for i, to := range []*[]uint8{&p.x, &p.y} {
		t, _, err := c.quantizedInput(i, tensor.QUint8)
		if err != nil {
			return p, a, b, err
		}
		*to = cells[uint8](t)
	}
	if a, err = c.rangeAt(2); err != nil {
		return p, a, b, err
	}
	if b, err = c.rangeAt(4); err != nil {
		return p, a, b, err
	}
	p.zeroX, p.zeroY = int32(q.unclamped(0, a)), int32(q.unclamped(0, b))
	p.out = quantizedTypes[tensor.QInt32].multiplied(q.level(a), q.level(b))
	return p, a, b, nil
}

func quantizedMatMul(s *site) (kernel, error) {
	flipA, flipB := s.boolean("transpose_a", false), s.boolean("transpose_b", false)
	return func(c call) error {
		p, ra, rb, err := c.product()
		if err != nil {
			return err
		}
		if len(c.t(2).Shape) != 0 {
			return fmt.Errorf("min_a must be a scalar, but got shape%v", c.t(2).Shape)
		}
		if !(ra.max > ra.min) || !(rb.max > rb.min) {
			return errors.New("max_a must be larger than min_a, and max_b than min_b.")
		}
		a, b := c.t(0).Shape, c.t(1).Shape
		if len(a) != 2 || len(b) != 2 {
			return fmt.Errorf("expected matrices, got shapes %v and %v", a, b)
		}
		g, err := productOf(a, b, flipA, flipB)
		if err != nil {
			return err
		}
		out, err := c.output(0, tensor.QInt32, g.m, g.n)
		if err != nil {
			return err
		}
		x := p.x
		if flipA {
			x = transposedBytes(x, g.k, g.m)
		}
		ldb := g.n
		if flipB {
			ldb = g.k
		}
		kernels.MultiplyBytes(kernels.ByteProduct{M: g.m, A: x, LDA: g.k, ZeroA: p.zeroX, B: kernels.PackBytes(p.y, ldb, g.k, g.n, flipB, false), ZeroB: []int32{p.zeroY},
			ByteResult: kernels.ByteResult{Ints: cells[int32](out)}})
		return c.setRange(1, p.out)
	}, nil
}

// transposedBytes returns the transpose of a matrix.
func transposedBytes(x []uint8, rows, cols int) []uint8 {
	y := make([]uint8, len(x))
	for i := range rows {
		for j, v := range x[i*cols : (i+1)*cols] {
			y[j*rows+i] = v
		}
	}
	return y
}

// quantizedConv2D pads with zero points. If these exceed 8 bits, padding has only their low bits, as in TensorFlow.
func quantizedConv2D(s *site) (kernel, error) {
	w, err := window.Read(&graph.Node{Name: s.node.Name, Op: "Conv2D", Attrs: s.node.Attrs})
	if err != nil {
		return nil, err
	}
	strides := s.node.Ints("strides")
	if strides[1] != strides[2] {
		s.fail("Current implementation only supports equal length strides in the row and column dimensions.")
	}
	for _, d := range s.node.Ints("dilations") {
		if d != 1 {
			s.fail("Current implementation does not yet support dilations in the spatial dimensions.")
		}
	}
	stride := int(strides[1])
	return func(c call) error {
		p, _, _, err := c.product()
		if err != nil {
			return err
		}
		in, filter := c.t(0).Shape, c.t(1).Shape
		if len(in) != 4 || len(filter) != 4 || in[3] != filter[2] {
			return fmt.Errorf("input and filter must be 4-dimensional with the same depth, got shapes %v and %v", in, filter)
		}
		g, err := w.Conv2D(in, filter)
		if err != nil {
			return err
		}
		shape := window.Result(g)
		if product(shape) == 0 {
			return fmt.Errorf("a convolution of shape %v by %v has no result", in, filter)
		}
		out, err := c.output(0, tensor.QInt32, shape...)
		if err != nil {
			return err
		}
		// TensorFlow's windows begin here both for SAME and for VALID.
		g.PadTop, g.PadLeft = ((shape[1]-1)*stride+filter[0]-in[1])/2, ((shape[2]-1)*stride+filter[1]-in[2])/2
		p.convolve(g, cells[int32](out))
		return c.setRange(1, p.out)
	}, nil
}

// convolve sets y to the sums of a convolution. A negative zero point has no byte that padding could have: padding then counts for nothing,
// and each product's share of the zero point is subtracted for the elements of the image alone.
func (p *quantizedOperands) convolve(g kernels.Window, y []int32) {
	k := g.KH * g.KW * g.InC
	v := kernels.ByteProduct{ZeroA: p.zeroX, B: kernels.PackBytes(p.y, g.OutC, k, g.OutC, false, false), ZeroB: []int32{p.zeroY}, ByteResult: kernels.ByteResult{Ints: y}}
	if p.zeroX >= 0 {
		kernels.ConvolveBytes(g, p.x, v)
		return
	}
	v.ZeroA = 0
	kernels.ConvolveBytes(g, p.x, v)
	ones, weights := make([]uint8, len(p.x)), make([]int32, len(y))
	for i := range ones {
		ones[i] = 1
	}
	v.Ints = weights
	kernels.ConvolveBytes(g, ones, v)
	for i, w := range weights {
		y[i] -= p.zeroX * w
	}
}

// quantizedBiasAdd adds in a symmetric range with room for sums.
func quantizedBiasAdd(c call) error {
	x, q, err := c.quantizedInput(0, c.t(0).DType)
	if err != nil {
		return err
	}
	bias, _, err := c.quantizedInput(1, q.dtype)
	if err != nil {
		return err
	}
	from, err := c.rangeAt(2)
	if err != nil {
		return err
	}
	with, err := c.rangeAt(4)
	if err != nil {
		return err
	}
	switch {
	case q.dtype != tensor.QInt8 && q.dtype != tensor.QUint8:
		return fmt.Errorf("type %v %w", q.dtype, ErrUnsupported)
	case len(x.Shape) < 2:
		return fmt.Errorf("Input tensor must be at least 2D: %v", x.Shape)
	case len(bias.Shape) != 1:
		return fmt.Errorf("Biases must be 1D: %v", bias.Shape)
	case bias.Shape[0] != x.Shape[len(x.Shape)-1]:
		return fmt.Errorf("Must provide as many biases as the last dimension of the input tensor: %v vs. %v", bias.Shape, x.Shape)
	}
	out, err := c.output(0, tensor.QInt32, x.Shape...)
	if err != nil {
		return err
	}
	most := max(from.max, -from.min, with.max, -with.min) * (1 << 17)
	total := numberRange{-most, most}
	wide := quantizedTypes[tensor.QInt32]
	t, zero := wide.toQuantized(total), wide.clamped(0, total)
	biases := make([]int32, bias.Len())
	n := q.toNumbers(with)
	q.values(bias, func(i int, v int32) { biases[i] = t.of(n.of(v)) + zero })
	y := cells[int32](out)
	n = q.toNumbers(from)
	q.values(x, func(i int, v int32) { y[i] = t.of(n.of(v)) + biases[i%len(biases)] })
	return c.setRange(1, total)
}
