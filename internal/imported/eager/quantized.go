package eager

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedOps compute with integers that stand for numbers of a range, as TensorFlow's kernels do without oneDNN.
var quantizedOps = map[*ops.Def]maker{
	ops.QuantizeV2:                 quantize,
	ops.Dequantize:                 dequantize,
	ops.Requantize:                 plain(requantize),
	ops.RequantizationRange:        plain(requantizationRange),
	ops.QuantizeDownAndShrinkRange: plain(shrinkRange),
	ops.QuantizedMatMul:            quantizedMatMul,
	ops.QuantizedConv2D:            quantizedConv2D,
	ops.QuantizedBiasAdd:           plain(quantizedBiasAdd),
	ops.QuantizedRelu:              quantizedRelu(float32(math.Inf(1))),
	ops.QuantizedRelu6:             quantizedRelu(6),
	ops.QuantizedMaxPool:           quantizedPool("MaxPool", mostByte),
	ops.QuantizedAvgPool:           quantizedPool("AvgPool", meanByte),
	ops.QuantizedReshape:           plain(quantizedReshape),
	ops.QuantizedConcat:            quantizedConcat,
}

// quantizer says how a tensor is quantized or dequantized.
type quantizer struct {
	quantizedType
	mode         string
	toEven       bool
	narrow       bool
	axis         int
	minimumRange float32
}

func (s *site) quantizer() quantizer {
	z := quantizer{quantizedTypes[s.dtype("T", tensor.QUint8)], s.str("mode", "MIN_COMBINED"), s.str("round_mode", "") == "HALF_TO_EVEN",
		s.boolean("narrow_range", false), s.node.Int("axis", -1), s.node.Float("ensure_minimum_range", 0.01)}
	if z.toEven && z.mode != "SCALED" {
		s.fail("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '%s'.", z.mode)
	}
	return z
}

// ranges reads the ranges: one of all elements, or one for each slice along the axis.
func (z quantizer) ranges(c call) (channels, []numberRange, error) {
	x, low, high := c.t(0), c.t(1), c.t(2)
	along := max(z.axis, -1)
	ch, err := slicesAlong(x.Shape, along)
	if err != nil {
		return ch, nil, err
	}
	for _, t := range []*tensor.Tensor{low, high} {
		if t.DType != tensor.Float32 || t.Len() != ch.n {
			return ch, nil, fmt.Errorf("expected ranges of %d elements, got %v of shape %v", ch.n, t.DType, t.Shape)
		}
	}
	if ch.n > 1 && z.mode == "MIN_FIRST" {
		return ch, nil, errors.New("MIN_FIRST mode is not implemented for axis != -1.")
	}
	all := make([]numberRange, ch.n)
	for i := range all {
		all[i] = numberRange{tensor.Values[float32](low)[i], tensor.Values[float32](high)[i]}
	}
	return ch, all, nil
}

func quantize(s *site) (kernel, error) {
	z := s.quantizer()
	return func(c call) error {
		if err := want("input", c.t(0), tensor.Float32); err != nil {
			return err
		}
		if z.axis > -1 && (len(c.t(1).Shape) != 1 || len(c.t(2).Shape) != 1) {
			return fmt.Errorf("If axis is specified, min_range must be a 1-D tensor, got shapes %v and %v", c.t(1).Shape, c.t(2).Shape)
		}
		ch, ranges, err := z.ranges(c)
		if err != nil {
			return err
		}
		out, err := c.output(0, z.dtype, c.t(0).Shape...)
		if err != nil {
			return err
		}
		shape := c.t(1).Shape
		if ch.n == 1 {
			shape = nil
		}
		low, err := outputOf[float32](c, 1, shape...)
		if err != nil {
			return err
		}
		high, err := outputOf[float32](c, 2, shape...)
		if err != nil {
			return err
		}
		x, set := tensor.Values[float32](c.t(0)), z.setter(out)
		for i, r := range ranges {
			if r.max < r.min {
				return errors.New("input_max_range must be larger than input_min_range.")
			}
			f, used := z.quantizes(r)
			low[i], high[i] = used.min, used.max
			ch.spans(i, func(from, to int) {
				for k := from; k < to; k++ {
					set(k, f(x[k]))
				}
			})
		}
		return nil
	}, nil
}

// quantizes returns the function that quantizes the numbers of a range, and the range used, which includes zero and is not too small.
func (z quantizer) quantizes(r numberRange) (func(v float32) int32, numberRange) {
	low := min(0, r.min)
	epsilon := max(1, float32(math.Abs(float64(r.min))), float32(math.Abs(float64(r.max)))) * z.minimumRange
	high := max(0, r.max, low+epsilon)
	r = numberRange{low, high}
	switch z.mode {
	case "MIN_FIRST":
		t := z.toQuantized(r)
		return t.of, r
	case "SCALED":
		return z.scaled(r)
	}
	scale := float32(float64(z.high-z.low) / float64(high-low))
	half := float32((z.steps()) / 2)
	return func(v float32) int32 {
		v = float32((max(min(v, high), low) - low) * scale)
		if z.signed() {
			return whole32(round32(v - half))
		}
		return whole32(v + 0.5)
	}, r
}

// scaled quantizes by a scale alone, so that zero stays zero.
func (z quantizer) scaled(r numberRange) (func(v float32) int32, numberRange) {
	first := float32(z.low)
	if z.narrow {
		first++
	}
	last, scale := float32(z.high), float32(math.MaxFloat32)
	for _, side := range [][2]float32{{first, r.min}, {last, r.max}} {
		if side[0]*side[1] > 0 {
			scale = min(scale, side[0]/side[1])
		}
	}
	r = numberRange{normal32(first / scale), normal32(last / scale)}
	round := math.Round
	if z.toEven {
		round = math.RoundToEven
	}
	return func(v float32) int32 {
		return whole32(float32(round(float64(float32(max(min(v, r.max), r.min) * scale)))))
	}, r
}

func dequantize(s *site) (kernel, error) {
	z, to := s.quantizer(), s.dtype("dtype", tensor.Float32)
	if to == tensor.BFloat16 && z.mode != "MIN_COMBINED" {
		s.fail("When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '%s'", z.mode)
	}
	return func(c call) error {
		x, _, err := c.quantizedInput(0, z.dtype)
		if err != nil {
			return err
		}
		ch, ranges, err := z.ranges(c)
		if err != nil {
			return err
		}
		out, err := c.alloc(tensor.Float32, x.Shape...)
		if err != nil {
			return err
		}
		y, all := tensor.Values[float32](out), make([]func(v int32) float32, ch.n)
		for i, r := range ranges {
			all[i] = z.numbers(r, ch.n)
		}
		z.values(x, func(i int, v int32) { y[i] = all[i/ch.after%ch.n](v) })
		if to != tensor.Float32 {
			return c.recastOutput(out, to)
		}
		c.set(0, out)
		return nil
	}, nil
}

// numbers returns the function that dequantizes numbers.
func (z quantizer) numbers(r numberRange, slices int) func(v int32) float32 {
	switch z.mode {
	case "MIN_FIRST":
		return z.toNumbers(r).of
	case "SCALED":
		first := float32(z.low)
		if z.narrow {
			first++
		}
		scale := r.max / float32(z.high)
		if z.signed() {
			scale = max(r.min/first, scale)
		}
		if z.axis < 0 || slices == 1 { // the largest int32 overflows there
			return func(v int32) float32 { return float32(whole32(float32(v))) * scale }
		}
		return func(v int32) float32 { return float32(v) * scale }
	}
	scale, half := (r.max-r.min)/(float32(z.high)-float32(z.low)), float32(0)
	if z.signed() {
		half = (float32(z.high) - float32(z.low) + 1) / 2
	}
	return func(v int32) float32 { return float32((float32(v)+half)*scale) + r.min }
}

// usedRange returns the part of a range that the quantized numbers of t use, extended down to zero.
func usedRange(t *tensor.Tensor, r numberRange) numberRange {
	q := quantizedTypes[tensor.QInt32]
	low, high := int32(q.high), int32(q.low)
	for _, v := range cells[int32](t) {
		low, high = min(low, v), max(high, v)
	}
	return numberRange{min(0, q.number(low, r)), q.number(high, r)}
}

// narrows computes the 8-bit output 0 from the 32-bit input 0, and sets its range.
func (c call) narrows(from, to numberRange) error {
	x := c.t(0)
	out, err := c.output(0, tensor.QUint8, x.Shape...)
	if err != nil {
		return err
	}
	y, n := cells[uint8](out), narrowing(from, to)
	for i, v := range cells[int32](x) {
		y[i] = uint8(n.of(v))
	}
	return c.setRange(1, to)
}

// wide reads input 0, 32-bit quantized numbers, and its range.
func (c call) wide() (*tensor.Tensor, numberRange, error) {
	x, _, err := c.quantizedInput(0, tensor.QInt32)
	if err != nil {
		return nil, numberRange{}, err
	}
	r, err := c.rangeAt(1)
	return x, r, err
}

func requantize(c call) error {
	_, from, err := c.wide()
	if err != nil {
		return err
	}
	to, err := c.rangeAt(3)
	if err != nil {
		return err
	}
	if !(to.min <= 0) || !(to.max >= to.min) {
		return fmt.Errorf("requested_output_min must be <= 0 and at most requested_output_max, got %v and %v", to.min, to.max)
	}
	return c.narrows(from, to)
}

func requantizationRange(c call) error {
	x, r, err := c.wide()
	if err != nil {
		return err
	}
	return c.setRange(0, usedRange(x, r))
}

func shrinkRange(c call) error {
	x, from, err := c.wide()
	if err != nil {
		return err
	}
	return c.narrows(from, usedRange(x, from))
}
