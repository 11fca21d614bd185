package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// quantizedType describes a type of quantized numbers.
type quantizedType struct {
	dtype     tensor.DType
	low, high int64
}

// quantizedTypes are the types of quantized numbers.
var quantizedTypes = map[tensor.DType]quantizedType{
	tensor.QInt8:   {tensor.QInt8, math.MinInt8, math.MaxInt8},
	tensor.QUint8:  {tensor.QUint8, 0, math.MaxUint8},
	tensor.QInt16:  {tensor.QInt16, math.MinInt16, math.MaxInt16},
	tensor.QUint16: {tensor.QUint16, 0, math.MaxUint16},
	tensor.QInt32:  {tensor.QInt32, math.MinInt32, math.MaxInt32},
}

func (q quantizedType) signed() bool { return q.low < 0 }

// steps returns the number of values.
func (q quantizedType) steps() float64 { return float64(q.high - q.low + 1) }

// values calls f for each element of a tensor of quantized numbers.
func (q quantizedType) values(t *tensor.Tensor, f func(i int, v int32)) {
	switch q.dtype {
	case tensor.QInt8:
		eachValue(cells[int8](t), f)
	case tensor.QUint8:
		eachValue(cells[uint8](t), f)
	case tensor.QInt16:
		eachValue(cells[int16](t), f)
	case tensor.QUint16:
		eachValue(cells[uint16](t), f)
	case tensor.QInt32:
		eachValue(cells[int32](t), f)
	}
}

func eachValue[T int8 | uint8 | int16 | uint16 | int32](all []T, f func(i int, v int32)) {
	for i, v := range all {
		f(i, int32(v))
	}
}

// setter returns the function that sets an element of a tensor of quantized numbers.
func (q quantizedType) setter(t *tensor.Tensor) func(i int, v int32) {
	switch q.dtype {
	case tensor.QInt8, tensor.QUint8:
		all := cells[uint8](t)
		return func(i int, v int32) { all[i] = uint8(v) }
	case tensor.QInt16, tensor.QUint16:
		all := cells[uint16](t)
		return func(i int, v int32) { all[i] = uint16(v) }
	}
	all := cells[int32](t)
	return func(i int, v int32) { all[i] = v }
}

// numberRange is the range of the numbers that quantized numbers stand for.
type numberRange struct{ min, max float32 }

// rangeAt reads a range from inputs i and i+1, each of one element.
func (c call) rangeAt(i int) (r numberRange, err error) {
	for k, to := range []*float32{&r.min, &r.max} {
		t := c.t(i + k)
		if t.DType != tensor.Float32 || t.Len() != 1 {
			return r, fmt.Errorf("%s must be a scalar, got %v of shape %v", [2]string{"min", "max"}[k], t.DType, t.Shape)
		}
		*to = tensor.Values[float32](t)[0]
	}
	return r, nil
}

// setRange sets outputs i and i+1 to a range.
func (c call) setRange(i int, r numberRange) error {
	for k, v := range []float32{r.min, r.max} {
		out, err := outputOf[float32](c, i+k)
		if err != nil {
			return err
		}
		out[0] = v
	}
	return nil
}

// quantizedInput returns input i, which must have type d.
func (c call) quantizedInput(i int, d tensor.DType) (*tensor.Tensor, quantizedType, error) {
	t := c.t(i)
	q, ok := quantizedTypes[d]
	if !ok || t.DType != d {
		return nil, q, fmt.Errorf("input %d: expected type %v, got %v", i, d, t.DType)
	}
	return t, q, nil
}

// unclamped returns the quantized number nearest to v, which may be outside the type.
func (q quantizedType) unclamped(v float32, r numberRange) int64 {
	if r.min == r.max {
		return q.low
	}
	steps := q.steps()
	scale := steps / (float64(r.max-r.min) * (steps / (steps - 1)))
	n := whole64(math.Round(float64(v)*scale) - math.Round(float64(r.min)*scale))
	if n == math.MinInt64 {
		return n
	}
	return n + q.low
}

// clamped returns the quantized number nearest to v within the type.
func (q quantizedType) clamped(v float32, r numberRange) int32 {
	return int32(min(max(q.unclamped(v, r), q.low), q.high))
}

// number returns what v stands for. It goes through float32, like TensorFlow's class of quantized numbers.
func (q quantizedType) number(v int32, r numberRange) float32 {
	if r.min == r.max {
		return r.min
	}
	steps := q.steps()
	scale := float64(r.max-r.min) * (steps / (steps - 1)) / steps
	first := round32(r.min/float32(scale)) * float32(scale)
	return float32(float64(first) + float64((float64(float32(v))-float64(q.low))*scale))
}

// level returns the distance between neighboring quantized numbers.
func (q quantizedType) level(r numberRange) float32 {
	return (r.max - r.min) / float32(q.high-q.low)
}

// multiplied returns the range of products of quantized numbers with the levels a and b.
func (q quantizedType) multiplied(a, b float32) numberRange {
	level := a * b
	return numberRange{level * float32(q.low), level * float32(q.high)}
}

// whole64 and whole32 convert to integers as x86 processors do: numbers out of range become the lowest integer.
func whole64(v float64) int64 {
	if v >= math.MinInt64 && v < math.MaxInt64 {
		return int64(v)
	}
	return math.MinInt64
}

func whole32(v float32) int32 {
	if v >= math.MinInt32 && v < math.MaxInt32 {
		return int32(v)
	}
	return math.MinInt32
}

// normal32 returns v, or 0 if it is denormal: TensorFlow flushes such numbers to zero.
func normal32(v float32) float32 {
	if v > -0x1p-126 && v < 0x1p-126 {
		return 0
	}
	return v
}

// round32 rounds halves away from zero.
func round32(v float32) float32 { return float32(math.Round(float64(v))) }

// toNumbers dequantizes whole tensors.
type toNumbers struct{ first, scale float32 }

func (q quantizedType) toNumbers(r numberRange) toNumbers {
	scale := float32(float64(r.max-r.min) / (q.steps() - 1))
	first := r.min
	if r.min != r.max {
		first = round32(r.min/scale) * scale
	}
	return toNumbers{first - float32(float32(q.low)*scale), scale}
}

func (n toNumbers) of(v int32) float32 { return n.first + float32(float32(v)*n.scale) }

// toQuantized quantizes whole tensors.
type toQuantized struct{ scale, first, low, high float32 }

func (q quantizedType) toQuantized(r numberRange) toQuantized {
	t := toQuantized{low: float32(q.low), high: min(float32(q.high), 2147483520)}
	if r.min != r.max {
		t.scale = float32((q.steps() - 1) / float64(r.max-r.min))
	}
	t.first = round32(float32(r.min*t.scale)) - float32(q.low)
	return t
}

func (t toQuantized) of(v float32) int32 {
	return whole32(min(max(round32(float32(v*t.scale))-t.first, t.low), t.high))
}

// narrowed requantizes from 32 bits to 8 bits in another range.
type narrowed struct{ scale, offset int64 }

func narrowing(from, to numberRange) narrowed {
	const one = 1 << 16
	width, target := from.max-from.min, to.max-to.min
	var reciprocal float32
	n := narrowed{}
	if target != 0 {
		reciprocal = float32(255 / float64(target))
		n.scale = whole64(255 * one * float64(width) / float64(target))
		n.offset = -whole64(one * (float64(to.min) * 255) / float64(target))
	}
	middle := float32(float64(from.min+from.max) / 2)
	n.offset += whole64(float64(float32(float32(middle*reciprocal)*one))) + one/2
	return n
}

func (n narrowed) of(v int32) int32 {
	return int32(min(max(((int64(float32(v))*n.scale)>>32+n.offset)>>16, 0), 255))
}
