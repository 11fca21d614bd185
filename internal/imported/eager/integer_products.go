package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// integerOps are products of 8-bit integers: see their definitions.
var integerOps = map[*ops.Def]maker{
	ops.IntegerMatMul: integerMatMul,
	ops.IntegerConv2D: integerConv2D,
}

// integerProduct returns the kernels' form of such a call without operands, for a result of n columns.
func (c call) integerProduct(n int) (p kernels.ByteProduct, err error) {
	for i, many := range []bool{2: false, 3: true, 4: true, 5: true, 6: true, 7: false} {
		absent := i == 4 || i == 6
		switch v := c.t(i).Len(); {
		case i < 2, v == 1 && !absent, v == n && many, v == 0 && absent:
		default:
			return p, fmt.Errorf("input %d: %d numbers for %d columns", i, v, n)
		}
	}
	p = kernels.ByteProduct{SignedA: c.t(0).DType == tensor.Int8, ZeroA: cells[int32](c.t(2))[0], ZeroB: cells[int32](c.t(3))}
	p.Scale, p.Zero = cells[float32](c.t(5)), cells[int32](c.t(7))[0]
	if b := cells[int32](c.t(4)); len(b) > 0 {
		p.Bias = b
	}
	if a := cells[float32](c.t(6)); len(a) > 0 {
		p.Add = a
	}
	return p, nil
}

// integerOutput allocates the result, and sets it in the product.
func (c call) integerOutput(p *kernels.ByteProduct, d tensor.DType, shape ...int) error {
	out, err := c.output(0, d, shape...)
	if err != nil {
		return err
	}
	switch d {
	case tensor.Int32:
		p.Ints = cells[int32](out)
	case tensor.Float32:
		p.Floats = cells[float32](out)
	default:
		p.Bytes, p.Signed = out.Bytes, d == tensor.Int8
	}
	return nil
}

func integerMatMul(s *site) (kernel, error) {
	d := s.dtype("Tout", tensor.Int32)
	return func(c call) error {
		a, b := c.t(0), c.t(1)
		if len(a.Shape) < 2 || len(b.Shape) < 2 {
			return fmt.Errorf("expected at least matrices, got shapes %v and %v", a.Shape, b.Shape)
		}
		g, err := productOf(a.Shape, b.Shape, false, false)
		if err != nil {
			return err
		}
		leadA, leadB := a.Shape[:len(a.Shape)-2], b.Shape[:len(b.Shape)-2]
		lead, err := broadcastShape(leadA, leadB)
		if err != nil {
			return err
		}
		p, err := c.integerProduct(g.n)
		if err != nil {
			return err
		}
		if err := c.integerOutput(&p, d, append(append([]int{}, lead...), g.m, g.n)...); err != nil {
			return err
		}
		size := g.m * g.n
		if size == 0 {
			return nil
		}
		p.M, p.LDA = g.m, g.k
		packed := -1
		return eachPair(lead, leadA, leadB, func(i, x, y int) error {
			if y != packed {
				p.B, packed = kernels.PackBytes(b.Bytes[y*g.k*g.n:][:g.k*g.n], g.n, g.k, g.n, false, b.DType == tensor.Int8), y
			}
			q := p
			q.A = a.Bytes[x*g.m*g.k:][:g.m*g.k]
			q.From(i * size)
			kernels.MultiplyBytes(q)
			return c.ctx.Err()
		})
	}, nil
}

func integerConv2D(s *site) (kernel, error) {
	d := s.dtype("Tout", tensor.Int32)
	w, err := window.Read(s.node)
	if err != nil {
		return nil, err
	}
	return func(c call) error {
		x, filter := c.t(0), c.t(1)
		if len(x.Shape) != 4 || len(filter.Shape) != 4 || x.Shape[3] != filter.Shape[2] {
			return fmt.Errorf("expected images and a filter of their channels, got shapes %v and %v", x.Shape, filter.Shape)
		}
		g, err := w.Conv2D(x.Shape, filter.Shape)
		if err != nil {
			return err
		}
		p, err := c.integerProduct(g.OutC)
		if err != nil {
			return err
		}
		if err := c.integerOutput(&p, d, window.Result(g)...); err != nil {
			return err
		}
		p.B = kernels.PackBytes(filter.Bytes, g.OutC, g.KH*g.KW*g.InC, g.OutC, false, filter.DType == tensor.Int8)
		kernels.ConvolveBytes(g, x.Bytes, p)
		return nil
	}, nil
}
