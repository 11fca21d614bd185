package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// fakeQuantOps round to the values that integers of a few bits can represent. Ranges are attributes, or inputs: one, or one per channel.
var fakeQuantOps = map[*ops.Def]maker{
	ops.FakeQuantWithMinMaxArgs:                   fakeQuantArgs(fakeQuantArgsEach),
	ops.FakeQuantWithMinMaxArgsGradient:           fakeQuantArgs(fakeQuantArgsGrad),
	ops.FakeQuantWithMinMaxVars:                   fakeQuantVars(false, fakeQuantized),
	ops.FakeQuantWithMinMaxVarsGradient:           fakeQuantVars(false, fakeQuantGrad),
	ops.FakeQuantWithMinMaxVarsPerChannel:         fakeQuantVars(true, fakeQuantized),
	ops.FakeQuantWithMinMaxVarsPerChannelGradient: fakeQuantVars(true, fakeQuantGrad),
}

// fakeSteps has the first and the last integer.
type fakeSteps struct{ first, last float32 }

func readFakeSteps(s *site) fakeSteps {
	bits := s.node.Int("num_bits", 8)
	if bits < 2 || bits > 16 {
		s.fail("num_bits must be between 2 and 16, got %d", bits)
		return fakeSteps{}
	}
	f := fakeSteps{0, float32(int(1)<<bits - 1)}
	if s.boolean("narrow_range", false) {
		f.first = 1
	}
	return f
}

// fakeRange is a quantized range, shifted so that zero is one of the steps.
type fakeRange struct {
	low, high, scale, inverse, zero float32
	void                            bool // the range was 0 to 0: everything becomes 0
	divides                         bool // divide by the scale; others multiply by its inverse
}

// over returns the shifted range for low to high.
func (f fakeSteps) over(low, high float32) fakeRange {
	r := fakeRange{scale: (high - low) / (f.last - f.first), inverse: (f.last - f.first) / (high - low), void: low == 0 && high == 0}
	var zero float32
	switch at := f.first - low/r.scale; {
	case at < f.first:
		zero = f.first
	case at > f.last:
		zero = f.last
	case at == at:
		zero = float32(math.Round(float64(at)))
	}
	r.low, r.high = float32((f.first-zero)*r.scale), float32((f.last-zero)*r.scale)
	r.zero = floor32(float32(-r.low*r.inverse) + 0.5)
	return r
}

func floor32(x float32) float32 { return float32(math.Floor(float64(x))) }

// quantized returns the value of the nearest step. NaN stays NaN.
func (r fakeRange) quantized(x float32) float32 {
	if r.void {
		return 0
	}
	x = clamped(x, r.low, r.high) - r.low
	if r.divides {
		x /= r.scale
	} else {
		x = float32(x * r.inverse)
	}
	return floor32(x-r.zero+0.5) * r.scale
}

// clamped returns x clamped to [low, high]. NaN stays NaN.
func clamped[T float](x, low, high T) T {
	if x > high {
		x = high
	}
	if x < low {
		x = low
	}
	return x
}

// ratio is 1 if a gradient passes, else 0: multiplied by it, an infinite gradient becomes NaN.
func ratio(passes bool) float32 {
	if passes {
		return 1
	}
	return 0
}

func (r fakeRange) passes(x float32) bool { return r.void || x >= r.low && x <= r.high }

func fakeQuantArgs(f func(c call, r fakeRange) error) maker {
	return func(s *site) (kernel, error) {
		low, high := s.node.Float("min", -6), s.node.Float("max", 6)
		if !(low < high) {
			s.fail("min has to be smaller than max, got %v and %v", low, high)
		}
		r := readFakeSteps(s).over(low, high)
		return func(c call) error { return f(c, r) }, nil
	}
}

func fakeQuantArgsEach(c call, r fakeRange) error {
	x := c.t(0)
	if err := want("inputs", x, tensor.Float32); err != nil {
		return err
	}
	y, err := outputOf[float32](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	for i, v := range tensor.Values[float32](x) {
		y[i] = r.quantized(v)
	}
	return nil
}

func fakeQuantArgsGrad(c call, r fakeRange) error {
	if err := c.gradientAlike(); err != nil {
		return err
	}
	dx, err := outputOf[float32](c, 0, c.t(1).Shape...)
	if err != nil {
		return err
	}
	g := tensor.Values[float32](c.t(0))
	for i, v := range tensor.Values[float32](c.t(1)) {
		dx[i] = g[i] * ratio(r.passes(v))
	}
	return nil
}

// gradientAlike fails unless inputs 0 and 1, a gradient and its operand, are float32 with the same shape.
func (c call) gradientAlike() error {
	for i, what := range []string{"gradients", "inputs"} {
		if err := want(what, c.t(i), tensor.Float32); err != nil {
			return err
		}
	}
	return fits("gradients", c.t(0), c.t(1).Shape)
}

// fakeRanges has the ranges of a tensor.
type fakeRanges struct {
	channels
	steps     fakeSteps
	divides   bool
	low, high []float32
}

func (f fakeRanges) at(i int) fakeRange {
	r := f.steps.over(f.low[i], f.high[i])
	r.divides = f.divides
	return r
}

// fakeQuantVars makes a kernel whose last inputs are the limits of the ranges: for all elements, or per element of the last dimension.
func fakeQuantVars(perChannel bool, f func(c call, x *tensor.Tensor, r fakeRanges) error) maker {
	return func(s *site) (kernel, error) {
		steps := readFakeSteps(s)
		return func(c call) error {
			at := len(c.in) - 3
			x, low, high := c.t(at), c.t(at+1), c.t(at+2)
			if x.DType != tensor.Float32 || low.DType != tensor.Float32 || high.DType != tensor.Float32 {
				return fmt.Errorf("expected float32, got %v, %v and %v", x.DType, low.DType, high.DType)
			}
			axis, shape := -1, []int{}
			if perChannel {
				if axis = len(x.Shape) - 1; axis < 0 {
					return fmt.Errorf("inputs must have at least rank 1, got a scalar")
				}
				shape = x.Shape[axis:]
			}
			if !slices.Equal(low.Shape, shape) || !slices.Equal(high.Shape, shape) {
				return fmt.Errorf("min and max must have shape %v, got %v and %v", shape, low.Shape, high.Shape)
			}
			ch, err := slicesAlong(x.Shape, axis)
			if err != nil {
				return err
			}
			return f(c, x, fakeRanges{ch, steps, !perChannel, tensor.Values[float32](low), tensor.Values[float32](high)})
		}, nil
	}
}

func fakeQuantized(c call, in *tensor.Tensor, ranges fakeRanges) error {
	y, err := outputOf[float32](c, 0, in.Shape...)
	if err != nil || len(y) == 0 {
		return err
	}
	x := tensor.Values[float32](in)
	for i := range ranges.n {
		r := ranges.at(i)
		ranges.spans(i, func(from, to int) {
			for k := from; k < to; k++ {
				y[k] = r.quantized(x[k])
			}
		})
	}
	return nil
}

// fakeQuantGrad passes gradients in range to the elements, and the sums of gradients below and above to the limits.
func fakeQuantGrad(c call, in *tensor.Tensor, ranges fakeRanges) error {
	if err := c.gradientAlike(); err != nil {
		return err
	}
	dx, err := outputOf[float32](c, 0, in.Shape...)
	if err != nil {
		return err
	}
	ends := [2][]float32{}
	for i := range ends {
		if ends[i], err = outputOf[float32](c, 1+i, c.t(2).Shape...); err != nil {
			return err
		}
	}
	if len(dx) == 0 {
		return nil
	}
	g, x := tensor.Values[float32](c.t(0)), tensor.Values[float32](in)
	for i := range ranges.n {
		r := ranges.at(i)
		var below, above float64
		ranges.spans(i, func(from, to int) {
			for k := from; k < to; k++ {
				dx[k] = g[k] * ratio(r.passes(x[k]))
				if !r.void {
					below += float64(g[k] * ratio(x[k] < r.low))
					above += float64(g[k] * ratio(x[k] > r.high))
				}
			}
		})
		ends[0][i], ends[1][i] = float32(below), float32(above)
	}
	return nil
}
