package eager

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// elementSteps has elementwise functions that TensorFlow composes from several steps.
func elementSteps() map[*ops.Def]steps {
	all := map[*ops.Def]steps{
		ops.LeakyRelu:     leakySteps,
		ops.LeakyReluGrad: leakyGradSteps,
	}
	for op, f := range unarySteps {
		all[op] = func(d tensor.DType) maker { return plain(eachOf(f(roundings[d]))) }
	}
	for op, f := range binarySteps {
		all[op] = func(d tensor.DType) maker { return plain(pairs(f(roundings[d]))) }
	}
	all[ops.Softplus] = func(d tensor.DType) maker { return plain(eachOf(softplusSteps(d))) }
	return all
}

func exp32(x float32) float32   { return float32(math.Exp(float64(x))) }
func log32(x float32) float32   { return float32(math.Log(float64(x))) }
func log1p32(x float32) float32 { return float32(math.Log1p(float64(x))) }
func sqrt32(x float32) float32  { return float32(math.Sqrt(float64(x))) }
func trunc32(x float32) float32 { return float32(math.Trunc(float64(x))) }

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// Constants of Selu, before rounding.
const (
	seluScale      = 1.0507009873554804934193349852946
	seluScaleAlpha = 1.7580993408473768599402175208123
)

var unarySteps = map[*ops.Def]func(r rounding) func(x float32) float32{
	ops.Elu: func(r rounding) func(x float32) float32 {
		return func(x float32) float32 {
			if x < 0 {
				return r(exp32(x)) - 1
			}
			return x
		}
	},
	ops.Selu: func(r rounding) func(x float32) float32 {
		scale, alpha := r(seluScale), r(seluScaleAlpha)
		return func(x float32) float32 {
			if x < 0 {
				return alpha * r(r(exp32(x))-1)
			}
			return scale * x
		}
	},
	ops.Sigmoid: func(r rounding) func(x float32) float32 {
		return func(x float32) float32 {
			e := r(exp32(x))
			if math.IsInf(float64(e), 1) {
				return 1
			}
			return e / r(1+e)
		}
	},
	ops.Softsign: func(r rounding) func(x float32) float32 {
		return func(x float32) float32 { return x / r(abs32(x)+1) }
	},
	ops.Relu: func(rounding) func(x float32) float32 { // a negative zero stays negative
		return func(x float32) float32 {
			if x < 0 {
				return 0
			}
			return x
		}
	},
	ops.Relu6: func(rounding) func(x float32) float32 {
		return func(x float32) float32 {
			if x < 0 {
				return 0
			}
			return min(x, 6)
		}
	},
}

// softplusSteps has the thresholds beyond which TensorFlow neglects a part of log(1+exp(x)).
func softplusSteps(d tensor.DType) func(x float32) float32 {
	r, epsilon := roundings[d], float32(0x1p-7)
	if d == tensor.Float16 {
		epsilon = 0x1p-13 // as Eigen states it
	}
	low := r(r(log32(epsilon)) + 2)
	return func(x float32) float32 {
		switch {
		case x > -low:
			return x
		case x < low:
			return exp32(x)
		}
		return log1p32(r(exp32(x)))
	}
}

var binarySteps = map[*ops.Def]func(r rounding) func(a, b float32) float32{
	ops.SquaredDifference: func(r rounding) func(a, b float32) float32 {
		return func(a, b float32) float32 { d := r(a - b); return d * d }
	},
	ops.FloorDiv: func(r rounding) func(a, b float32) float32 {
		return func(a, b float32) float32 { return floor32(r(a / b)) }
	},
	ops.TruncateDiv: func(r rounding) func(a, b float32) float32 {
		return func(a, b float32) float32 { return trunc32(r(a / b)) }
	},
	ops.Xlogy:   timesLog(log32),
	ops.Xlog1py: timesLog(log1p32),

	ops.EluGrad: func(r rounding) func(a, b float32) float32 {
		return func(dy, y float32) float32 {
			if y < 0 {
				return r(y+1) * dy
			}
			return dy
		}
	},
	ops.SeluGrad: func(r rounding) func(a, b float32) float32 {
		scale, alpha := r(seluScale), r(seluScaleAlpha)
		return func(dy, y float32) float32 {
			if y < 0 {
				return dy * r(y+alpha)
			}
			return dy * scale
		}
	},
	ops.SoftplusGrad: func(r rounding) func(a, b float32) float32 {
		return func(dy, x float32) float32 { return dy / r(r(exp32(-x))+1) }
	},
	ops.SoftsignGrad: func(r rounding) func(a, b float32) float32 {
		return func(dy, x float32) float32 { d := r(abs32(x) + 1); return dy / r(d*d) }
	},
	ops.SigmoidGrad: func(r rounding) func(a, b float32) float32 {
		return func(y, dy float32) float32 { return r(dy*y) * r(1-y) }
	},
	ops.TanhGrad: func(r rounding) func(a, b float32) float32 {
		return func(y, dy float32) float32 { return dy * r(1-r(y*y)) }
	},
	ops.SqrtGrad: func(r rounding) func(a, b float32) float32 {
		return unlessFlat(func(y, dy float32) float32 { return r(0.5*dy) / y })
	},
	ops.RsqrtGrad: func(r rounding) func(a, b float32) float32 {
		return unlessFlat(func(y, dy float32) float32 { return r(-0.5*r(dy*y)) * r(y*y) })
	},
	ops.InvGrad:        invGradSteps,
	ops.ReciprocalGrad: invGradSteps,
}

func invGradSteps(r rounding) func(a, b float32) float32 {
	return unlessFlat(func(y, dy float32) float32 { return r(-y*y) * dy })
}

// timesLog is 0 if the first operand is 0.
func timesLog(log func(float32) float32) func(r rounding) func(a, b float32) float32 {
	return func(r rounding) func(a, b float32) float32 {
		return func(a, b float32) float32 {
			if a == 0 {
				return 0
			}
			return a * r(log(b))
		}
	}
}

// leakySteps rounds alpha to the elements' type.
func leakySteps(d tensor.DType) maker {
	return func(s *site) (kernel, error) {
		alpha := roundings[d](s.node.Float("alpha", 0.2))
		return eachOf(func(x float32) float32 {
			if x > 0 {
				return x
			}
			return x * alpha
		}), nil
	}
}

func leakyGradSteps(d tensor.DType) maker {
	return func(s *site) (kernel, error) {
		alpha := roundings[d](s.node.Float("alpha", 0.2))
		return pairs(func(dy, x float32) float32 {
			if x > 0 {
				return dy
			}
			return dy * alpha
		}), nil
	}
}
