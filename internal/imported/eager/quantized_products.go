package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/tensor"
)

// byteProduct is a product of two tensors of 8 bits: their zero points are subtracted, and sums have 32 bits.
type byteProduct struct {
	x, y         []uint8
	zeroX, zeroY int32
	out          numberRange // of the sums
}

// product reads inputs 0 and 1 with the ranges that follow them.
func (c call) product() (p byteProduct, a, b numberRange, err error) {
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
		m, k, stepM, stepK := a[0], a[1], a[1], 1
		if flipA {
			m, k, stepM, stepK = k, m, 1, a[1]
		}
		k2, n, rowK, rowN := b[0], b[1], b[1], 1
		if flipB {
			k2, n, rowK, rowN = n, k2, 1, b[1]
		}
		if k != k2 {
			return fmt.Errorf("Matrix size-incompatible: In[0]: %v, In[1]: %v", a, b)
		}
		out, err := c.output(0, tensor.QInt32, m, n)
		if err != nil {
			return err
		}
		y := cells[int32](out)
		for i := range m {
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			row := y[i*n : (i+1)*n]
			for l := range k {
				v := int32(p.x[i*stepM+l*stepK]) - p.zeroX
				for j := range row {
					row[j] += v * (int32(p.y[l*rowK+j*rowN]) - p.zeroY)
				}
			}
		}
		return c.setRange(1, p.out)
	}, nil
}

// quantizedConv2D has padding of zero points. Where these are beyond 8 bits, only their low bits are in it, as in TensorFlow.
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
		v := byteConv{byteProduct: p, in: in, filter: filter, out: shape, stride: stride,
			top: ((shape[1]-1)*stride + filter[0] - in[1]) / 2, left: ((shape[2]-1)*stride + filter[1] - in[2]) / 2}
		if p.zeroX >= 0 {
			v.padding = int32(uint8(p.zeroX)) - p.zeroX
		}
		if err := v.run(c, cells[int32](out)); err != nil {
			return err
		}
		return c.setRange(1, p.out)
	}, nil
}

// byteConv is a convolution of images [batch, height, width, channels].
type byteConv struct {
	byteProduct
	in, filter, out []int
	stride          int
	top, left       int   // of the first window, before the image
	padding         int32 // what is beside the image
}

func (v *byteConv) run(c call, y []int32) error {
	depth, channels := v.in[3], v.out[3]
	for at := 0; at < len(y); at += channels {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		place := at / channels
		col, line, image := place%v.out[2], place/v.out[2]%v.out[1], place/v.out[2]/v.out[1]
		sums := y[at : at+channels]
		for fy := range v.filter[0] {
			for fx := range v.filter[1] {
				iy, ix := line*v.stride-v.top+fy, col*v.stride-v.left+fx
				inside := iy >= 0 && iy < v.in[1] && ix >= 0 && ix < v.in[2]
				if !inside && v.padding == 0 {
					continue
				}
				weights := v.y[(fy*v.filter[1]+fx)*depth*channels:]
				for d := range depth {
					x := v.padding
					if inside {
						x = int32(v.x[((image*v.in[1]+iy)*v.in[2]+ix)*depth+d]) - v.zeroX
					}
					for j := range sums {
						sums[j] += x * (int32(weights[d*channels+j]) - v.zeroY)
					}
				}
			}
		}
	}
	return nil
}

// quantizedBiasAdd adds in a range that is symmetric and has room for sums.
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
