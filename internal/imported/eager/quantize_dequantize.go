package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// quantizeDequantizeOps quantize to integers and dequantize again at once.
var quantizeDequantizeOps = map[*ops.Def]maker{
	ops.QuantizeAndDequantize:       throughIntegers,
	ops.QuantizeAndDequantizeV2:     throughIntegers,
	ops.QuantizeAndDequantizeV3:     throughIntegers,
	ops.QuantizeAndDequantizeV4:     throughIntegers,
	ops.QuantizeAndDequantizeV4Grad: throughIntegersGrad,
}

// integerSteps says to which integers numbers are rounded, and how.
type integerSteps struct {
	signed, narrow, given, halfUp bool // given: the range is given; if not, it is the elements' range
	axis, bits                    int
	low, high                     float32 // of the op's first version
}

func readIntegerSteps(s *site) integerSteps {
	q := integerSteps{signed: s.boolean("signed_input", true), narrow: s.boolean("narrow_range", false), halfUp: s.str("round_mode", "") == "HALF_UP",
		axis: s.node.Int("axis", -1), bits: s.node.Int("num_bits", 8), low: s.node.Float("input_min", 0), high: s.node.Float("input_max", 0)}
	q.given = s.boolean("range_given", s.node.Op == ops.QuantizeAndDequantizeV3.Name)
	if err := q.check(); err != nil {
		s.fail("%v", err)
	}
	return q
}

// check fails unless the integers fit in an int64.
func (q integerSteps) check() error {
	most := 62
	if q.signed {
		most = 61
	}
	if q.bits < 1 || q.bits > most {
		return fmt.Errorf("num_bits is out of range: expected 1 to %d, got %d", most, q.bits)
	}
	return nil
}

// ends returns the first and the last integer.
func (q integerSteps) ends() (first, last int64) {
	if !q.signed {
		return 0, 1<<q.bits - 1
	}
	first, last = -1<<(q.bits-1), 1<<(q.bits-1)-1
	if q.narrow {
		first++
	}
	return first, last
}

func throughIntegers(s *site) (kernel, error) {
	q := readIntegerSteps(s)
	return floats(func(c call) error { return roundTrip[float32](c, q) }, func(c call) error { return roundTrip[float64](c, q) }).on(0), nil
}

func roundTrip[T float](c call, q integerSteps) error {
	x := c.t(0)
	if len(c.in) == 4 {
		bits := c.t(3)
		if bits.DType != tensor.Int32 || bits.Len() != 1 {
			return fmt.Errorf("num_bits must be one int32, got %v of shape %v", bits.DType, bits.Shape)
		}
		q.bits = int(tensor.Values[int32](bits)[0])
		if err := q.check(); err != nil {
			return err
		}
	}
	ch, err := slicesAlong(x.Shape, q.axis)
	if err != nil {
		return err
	}
	low, high, err := rangesGiven[T](c, q, ch)
	if err != nil {
		return err
	}
	y, err := outputOf[T](c, 0, x.Shape...)
	if err != nil || len(y) == 0 {
		return err
	}
	in := tensor.Values[T](x)
	for i := range ch.n {
		var l, h T
		if q.given {
			l, h = low[i], high[i]
		} else {
			l, h = extremes(in, ch, i)
		}
		f := roundTripOver(q, l, h)
		ch.spans(i, func(from, to int) {
			for k := from; k < to; k++ {
				y[k] = f(in[k])
			}
		})
	}
	return nil
}

// rangesGiven returns the ends of a node's ranges, from its attributes or inputs; nil if it has none.
func rangesGiven[T float](c call, q integerSteps, ch channels) (low, high []T, err error) {
	switch {
	case !q.given:
		return nil, nil, nil
	case len(c.in) == 1:
		low, high = []T{T(q.low)}, []T{T(q.high)}
	default:
		for _, t := range []*tensor.Tensor{c.t(1), c.t(2)} {
			if t.DType != tensor.TypeOf[T]() || t.Len() != ch.n || q.axis >= 0 && len(t.Shape) != 1 {
				return nil, nil, fmt.Errorf("input_min and input_max: expected %d of type %v, got %v of shape %v", ch.n, tensor.TypeOf[T](), t.DType, t.Shape)
			}
		}
		low, high = tensor.Values[T](c.t(1)), tensor.Values[T](c.t(2))
	}
	if q.axis < 0 && !(low[0] <= high[0]) {
		return nil, nil, fmt.Errorf("invalid range: input_min %v is above input_max %v", low[0], high[0])
	}
	return low, high, nil
}

// extremes returns the minimum and the maximum of channel i.
func extremes[T float](x []T, ch channels, i int) (low, high T) {
	low, high = T(math.Inf(1)), T(math.Inf(-1))
	ch.spans(i, func(from, to int) {
		for _, v := range x[from:to] {
			if v < low {
				low = v
			}
			if v > high {
				high = v
			}
		}
	})
	return low, high
}

// roundTripOver returns the function that scales a number, rounds it to an integer and scales it back. Zero stays zero.
func roundTripOver[T float](q integerSteps, low, high T) func(x T) T {
	first, last := q.ends()
	var scale, inverse T
	fromLow, fromHigh := mostFinite[T](), mostFinite[T]()
	if T(first)*low > 0 {
		fromLow = T(first) / low
	}
	if T(last)*high > 0 {
		fromHigh = T(last) / high
	}
	if fromLow < fromHigh {
		scale, inverse = fromLow, low/T(first)
		high = T(last) * inverse
	} else {
		scale, inverse = fromHigh, high/T(last)
		low = T(first) * inverse
	}
	return func(x T) T {
		if q.given {
			x = clamped(x, low, high)
		}
		v := float64(T(x * scale))
		if q.halfUp {
			v = math.Floor(float64(T(v) + 0.5))
		} else {
			v = math.RoundToEven(v)
		}
		return T(v) * inverse
	}
}

// mostFinite returns the largest finite number.
func mostFinite[T float]() T {
	most := math.MaxFloat32
	if tensor.TypeOf[T]() == tensor.Float64 {
		most = math.MaxFloat64
	}
	return T(most)
}

func throughIntegersGrad(s *site) (kernel, error) {
	axis := s.node.Int("axis", -1)
	return floats(func(c call) error { return roundTripGrad[float32](c, axis) }, func(c call) error { return roundTripGrad[float64](c, axis) }).on(0), nil
}

// roundTripGrad passes on the gradients of elements within the ranges; the ranges' own gradients are 0.
func roundTripGrad[T float](c call, axis int) error {
	if err := sameType(c.in); err != nil {
		return err
	}
	g, x, low, high := c.t(0), c.t(1), c.t(2), c.t(3)
	ch, err := slicesAlong(x.Shape, axis)
	if err != nil {
		return err
	}
	if err := fits("gradients", g, x.Shape); err != nil {
		return err
	}
	if low.Len() != ch.n || high.Len() != ch.n || len(low.Shape) > 1 || len(high.Shape) > 1 {
		return fmt.Errorf("input_min and input_max: expected %d elements, got shapes %v and %v", ch.n, low.Shape, high.Shape)
	}
	dx, err := outputOf[T](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if _, err := c.output(i, low.DType, low.Shape...); err != nil {
			return err
		}
	}
	from, in := tensor.Values[T](g), tensor.Values[T](x)
	for i := range ch.n {
		l, h := tensor.Values[T](low)[i], tensor.Values[T](high)[i]
		ch.spans(i, func(a, b int) {
			for k := a; k < b; k++ {
				dx[k] = from[k] * T(ratio(in[k] >= l && in[k] <= h))
			}
		})
	}
	return nil
}
