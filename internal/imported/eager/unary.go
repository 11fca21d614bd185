package eager

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/special"
	"github.com/goestimator/goestimator/tensor"
)

// unaryOps work on each element alone.
var unaryOps = unaryTable()

func unaryTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{
		ops.LogicalNot:      plain(eachOf(func(x bool) bool { return !x })),
		ops.LeakyRelu:       leakyRelu,
		ops.IsNan:           plain(floats(eachOf(isNaN[float32]), eachOf(isNaN[float64])).on(0)),
		ops.IsInf:           plain(floats(eachOf(isInf[float32]), eachOf(isInf[float64])).on(0)),
		ops.IsFinite:        plain(floats(eachOf(isFinite[float32]), eachOf(isFinite[float64])).on(0)),
		ops.CheckNumerics:   checkNumerics,
		ops.CheckNumericsV2: checkNumerics,
		ops.ClipByValue:     plain(clipByValue),
		ops.Selu:            plain(floats(eachOf(selu[float32]), eachOf(selu[float64])).on(0)),
	}
	for _, op := range ops.Defs() {
		if f := op.Element.Float; f != nil {
			all[op] = plain(withComplex(floats(mapped[float32](f), mapped[float64](f)), op).on(0))
		}
	}
	all[ops.Erfinv] = special1(special.InverseErf[float32], special.InverseErf[float64])
	all[ops.Round] = plain(numbers(mapped[float32](math.RoundToEven), mapped[float64](math.RoundToEven), nil, nil, pass, pass, nil, nil, nil, nil).on(0))
	for _, op := range []*ops.Def{ops.Neg, ops.Abs, ops.Sign, ops.Square, ops.Relu, ops.Relu6, ops.Invert} {
		all[op] = plain(withComplex(numbers(simple[float32](op), simple[float64](op), simple[int8](op), simple[int16](op),
			simple[int32](op), simple[int64](op), simple[uint8](op), simple[uint16](op), simple[uint32](op), simple[uint64](op)), op).on(0))
	}
	return all
}

// eachOf returns the kernel that applies f to every element.
func eachOf[T, R tensor.Element](f func(T) R) kernel {
	return func(c call) error {
		if err := want("x", c.t(0), tensor.TypeOf[T]()); err != nil {
			return err
		}
		dst, err := outputOf[R](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		for i, v := range tensor.Values[T](c.t(0)) {
			dst[i] = f(v)
		}
		return nil
	}
}

func mapped[T float](f func(float64) float64) kernel {
	return eachOf(func(x T) T { return T(f(float64(x))) })
}

// selu subtracts 1 from a rounded power, as TensorFlow does.
func selu[T float](x T) T {
	const scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
	if x < 0 {
		return scale * alpha * (T(math.Exp(float64(x))) - 1)
	}
	return scale * x
}

func isNaN[T float](x T) bool    { return x != x }
func isInf[T float](x T) bool    { return math.IsInf(float64(x), 0) }
func isFinite[T float](x T) bool { return x-x == 0 }

func simple[T number](op *ops.Def) kernel {
	switch op {
	case ops.Neg:
		return eachOf(func(x T) T { return -x })
	case ops.Abs:
		return eachOf(func(x T) T {
			if x <= 0 {
				return 0 - x
			}
			return x
		})
	case ops.Sign:
		return eachOf(func(x T) T {
			switch {
			case x > 0:
				return 1
			case x < 0:
				var one T = 1
				return -one
			}
			return x + 0 // NaN, or zero without its sign
		})
	case ops.Square:
		return eachOf(func(x T) T { return x * x })
	case ops.Relu:
		return eachOf(func(x T) T { return max(x, 0) })
	case ops.Relu6:
		return eachOf(func(x T) T { return min(max(x, 0), 6) })
	}
	var z T
	if z--; z > 0 { // unsigned
		return eachOf(func(x T) T { return z - x })
	}
	if half := T(1) / 2; half != 0 {
		return nil // a float has no bits to invert
	}
	return eachOf(func(x T) T { return -x - 1 })
}

func leakyRelu(s *site) (kernel, error) {
	alpha := float64(s.node.Float("alpha", 0.2))
	f := func(x float64) float64 {
		if x > 0 {
			return x
		}
		return x * alpha
	}
	return floats(mapped[float32](f), mapped[float64](f)).on(0), nil
}

func checkNumerics(s *site) (kernel, error) {
	message := s.str("message", "")
	return func(c call) error {
		var nan, inf bool
		for i := range c.t(0).Len() {
			v := c.t(0).Float(i)
			nan, inf = nan || v != v, inf || math.IsInf(v, 0)
		}
		switch {
		case nan && inf:
			return errors.New(message + " : Tensor had Inf and NaN values")
		case inf:
			return errors.New(message + " : Tensor had Inf values")
		case nan:
			return errors.New(message + " : Tensor had NaN values")
		}
		return pass(c)
	}, nil
}

// clipByValue is Minimum and then Maximum.
func clipByValue(c call) error {
	for _, limit := range []*tensor.Tensor{c.t(1), c.t(2)} {
		if len(limit.Shape) != 0 && !slices.Equal(limit.Shape, c.t(0).Shape) {
			return fmt.Errorf("clip_value_min and clip_value_max must be scalars or of the shape %v of the input, got %v", c.t(0).Shape, limit.Shape)
		}
	}
	mid := call{ctx: c.ctx, env: c.env, in: []Value{c.in[0], c.in[2]}, out: make([]Value, 1)}
	if err := minimum(mid); err != nil {
		return err
	}
	c.in = []Value{mid.out[0], c.in[1]}
	return maximum(c)
}

var minimum, maximum = arithmetic(ops.Minimum), arithmetic(ops.Maximum)
