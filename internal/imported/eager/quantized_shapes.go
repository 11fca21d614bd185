package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedRelu clips numbers at 0 and at most.
func quantizedRelu(most float32) maker {
	return plain(func(c call) error { return c.clips(most) })
}

// clips clips input 0; its range follows it.
func (c call) clips(most float32) error {
	x, q, err := c.quantizedInput(0, c.t(0).DType)
	if err != nil {
		return err
	}
	if q.dtype != tensor.QInt32 && q.dtype != tensor.QUint8 {
		return fmt.Errorf("type %v %w", q.dtype, ErrUnsupported)
	}
	r, err := c.rangeAt(1)
	if err != nil {
		return err
	}
	out, err := c.output(0, q.dtype, x.Shape...)
	if err != nil {
		return err
	}
	low, high := q.clamped(0, r), int32(q.high)
	if most < float32(math.Inf(1)) {
		high = q.clamped(most, r)
	}
	set := q.setter(out)
	q.values(x, func(i int, v int32) { set(i, min(max(v, low), high)) })
	return c.setRange(1, r)
}

// mostByte and meanByte reduce the values of a pool's window.
func mostByte(values []uint8) uint8 {
	most := values[0]
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

func meanByte(values []uint8) uint8 {
	sum := 0
	for _, v := range values {
		sum += int(v)
	}
	return uint8(sum / len(values))
}

// quantizedPool pools 8-bit images. The range stays.
func quantizedPool(op string, f func(values []uint8) uint8) maker {
	return func(s *site) (kernel, error) {
		w, err := window.Read(&graph.Node{Name: s.node.Name, Op: op, Attrs: s.node.Attrs})
		if err != nil {
			return nil, err
		}
		return func(c call) error {
			x, _, err := c.quantizedInput(0, tensor.QUint8)
			if err != nil {
				return err
			}
			r, err := c.rangeAt(1)
			if err != nil {
				return err
			}
			g, err := w.Pool(x.Shape)
			if err != nil {
				return err
			}
			out, err := c.output(0, tensor.QUint8, window.Result(g)...)
			if err != nil {
				return err
			}
			if err := poolBytes(c, g, cells[uint8](out), cells[uint8](x), f); err != nil {
				return err
			}
			return c.setRange(1, r)
		}, nil
	}
}

func poolBytes(c call, g kernels.Window, y, x []uint8, f func(values []uint8) uint8) error {
	var values []uint8
	for at := range y {
		if at%4096 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		channel, place := at%g.OutC, at/g.OutC
		col, line, image := place%g.OutW, place/g.OutW%g.OutH, place/g.OutW/g.OutH
		top, left := line*g.StrideH-g.PadTop, col*g.StrideW-g.PadLeft
		values = values[:0]
		for iy := max(top, 0); iy < min(top+g.KH, g.InH); iy++ {
			for ix := max(left, 0); ix < min(left+g.KW, g.InW); ix++ {
				values = append(values, x[((image*g.InH+iy)*g.InW+ix)*g.OutC+channel])
			}
		}
		if len(values) > 0 {
			y[at] = f(values)
		}
	}
	return nil
}

func quantizedReshape(c call) error {
	if d := c.t(0).DType; d != tensor.QUint8 && d != tensor.QInt32 {
		return fmt.Errorf("type %v %w", d, ErrUnsupported)
	}
	r, err := c.rangeAt(2)
	if err != nil {
		return err
	}
	if err := reshape(call{ctx: c.ctx, env: c.env, in: c.in[:2], out: c.out[:1], grows: c.grows, lent: c.lent}); err != nil {
		return err
	}
	return c.setRange(1, r)
}

// quantizedConcat joins tensors in a range that includes all of theirs.
func quantizedConcat(s *site) (kernel, error) {
	n := s.count("N", 0, 1<<16)
	return func(c call) error {
		if len(c.in) != 1+3*n || n == 0 {
			return fmt.Errorf("expected %d tensors with their ranges, got %d inputs", n, len(c.in))
		}
		axis, err := integer("concat_dim", c.t(0))
		if err != nil {
			return err
		}
		q, ok := quantizedTypes[c.t(1).DType]
		if !ok || axis < 0 || axis >= len(c.t(1).Shape) {
			return fmt.Errorf("ConcatOp : Expected concatenating dimensions in the range [0, %d) of quantized numbers, but got %d of %v", len(c.t(1).Shape), axis, c.t(1).DType)
		}
		total, ranges := numberRange{math.MaxFloat32, -math.MaxFloat32}, make([]numberRange, n)
		for i := range ranges {
			pair := call{in: []Value{c.in[1+n+i], c.in[1+2*n+i]}}
			if ranges[i], err = pair.rangeAt(0); err != nil {
				return err
			}
			total = numberRange{min(total.min, ranges[i].min), max(total.max, ranges[i].max)}
		}
		if q.signed() {
			most := max(float32(math.Abs(float64(total.min))), float32(math.Abs(float64(total.max))))
			total = numberRange{-most, most}
		}
		values := make([]Value, n)
		for i := range values {
			if c.t(1+i).DType != q.dtype {
				return fmt.Errorf("values: expected %v, got %v", q.dtype, c.t(1+i).DType)
			}
			if values[i], err = c.inRange(q, c.in[1+i], ranges[i], total); err != nil {
				return err
			}
		}
		if err := concat(call{ctx: c.ctx, env: c.env, in: append(values, c.in[0]), out: c.out[:1], grows: c.grows, lent: c.lent}, values, n); err != nil {
			return err
		}
		return c.setRange(1, total)
	}, nil
}

// inRange requantizes numbers to another range.
func (c call) inRange(q quantizedType, v Value, from, to numberRange) (Value, error) {
	if from == to {
		return v, nil
	}
	out, err := c.alloc(q.dtype, v.T.Shape...)
	if err != nil {
		return v, err
	}
	set, n, t := q.setter(out), q.toNumbers(from), q.toQuantized(to)
	q.values(v.T, func(i int, x int32) { set(i, t.of(n.of(x))) })
	return Value{T: out}, nil
}
