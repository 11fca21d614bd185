package eager

import (
	"errors"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// unaryOps work on each element alone.
var unaryOps = unaryTable()

// floatFuncs are ops that floats alone have.
var floatFuncs = map[string]func(x float64) float64{
	"Sqrt": math.Sqrt, "Exp": math.Exp, "Expm1": math.Expm1, "Log": math.Log, "Log1p": math.Log1p,
	"Floor": math.Floor, "Ceil": math.Ceil, "Round": math.RoundToEven, "Rint": math.RoundToEven,
	"Erf": math.Erf, "Erfc": math.Erfc, "Erfinv": math.Erfinv,
	"Sin": math.Sin, "Cos": math.Cos, "Tan": math.Tan, "Asin": math.Asin, "Acos": math.Acos, "Atan": math.Atan,
	"Sinh": math.Sinh, "Cosh": math.Cosh, "Asinh": math.Asinh, "Acosh": math.Acosh, "Atanh": math.Atanh, "Tanh": math.Tanh,
	"Rsqrt":      func(x float64) float64 { return 1 / math.Sqrt(x) },
	"Reciprocal": func(x float64) float64 { return 1 / x },
	"Inv":        func(x float64) float64 { return 1 / x },
	"Lgamma": func(x float64) float64 {
		v, _ := math.Lgamma(x)
		return v
	},
	"Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Elu": func(x float64) float64 {
		if x < 0 {
			return math.Expm1(x)
		}
		return x
	},
	"Softplus": func(x float64) float64 {
		if x > 0 {
			return x + math.Log1p(math.Exp(-x))
		}
		return math.Log1p(math.Exp(x))
	},
	"Softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
}

func unaryTable() map[string]opDef {
	all := map[string]opDef{
		"LogicalNot":      {in: 1, out: 1, make: plain(eachOf(func(x bool) bool { return !x }))},
		"LeakyRelu":       {in: 1, out: 1, make: leakyRelu},
		"IsNan":           {in: 1, out: 1, make: plain(floats(eachOf(isNaN[float32]), eachOf(isNaN[float64])).on(0))},
		"IsInf":           {in: 1, out: 1, make: plain(floats(eachOf(isInf[float32]), eachOf(isInf[float64])).on(0))},
		"IsFinite":        {in: 1, out: 1, make: plain(floats(eachOf(isFinite[float32]), eachOf(isFinite[float64])).on(0))},
		"CheckNumerics":   {in: 1, out: 1, make: checkNumerics},
		"CheckNumericsV2": {in: 1, out: 1, make: checkNumerics},
		"ClipByValue":     {in: 3, out: 1, make: plain(clipByValue)},
		"Selu":            {in: 1, out: 1, make: plain(floats(eachOf(selu[float32]), eachOf(selu[float64])).on(0))},
	}
	for op, f := range floatFuncs {
		all[op] = opDef{in: 1, out: 1, make: plain(floats(mapped[float32](f), mapped[float64](f)).on(0))}
	}
	for _, op := range []string{"Neg", "Abs", "Sign", "Square", "Relu", "Relu6", "Invert"} {
		all[op] = opDef{in: 1, out: 1, make: plain(numbers(simple[float32](op), simple[float64](op), simple[int8](op), simple[int16](op),
			simple[int32](op), simple[int64](op), simple[uint8](op), simple[uint16](op), simple[uint32](op), simple[uint64](op)).on(0))}
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

// selu takes 1 from a rounded power, as TensorFlow does.
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

func simple[T number](op string) kernel {
	switch op {
	case "Neg":
		return eachOf(func(x T) T { return -x })
	case "Abs":
		return eachOf(func(x T) T {
			if x <= 0 {
				return 0 - x
			}
			return x
		})
	case "Sign":
		return eachOf(func(x T) T {
			switch {
			case x > 0:
				return 1
			case x < 0:
				var one T = 1
				return -one
			}
			return x // zero or NaN
		})
	case "Square":
		return eachOf(func(x T) T { return x * x })
	case "Relu":
		return eachOf(func(x T) T { return max(x, 0) })
	case "Relu6":
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
	mid := call{ctx: c.ctx, env: c.env, in: []Value{c.in[0], c.in[2]}, out: make([]Value, 1)}
	if err := minimum(mid); err != nil {
		return err
	}
	c.in = []Value{mid.out[0], c.in[1]}
	return maximum(c)
}

var minimum, maximum = arithmetic("Minimum"), arithmetic("Maximum")
