package eager

import (
	"cmp"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// specialOps are special functions in the precision of their elements: at edges, and where a formula cancels, the results are TensorFlow's.
var specialOps = map[*ops.Def]maker{
	ops.Digamma:         special1(digamma[float32], digamma[float64]),
	ops.Igamma:          special2(igamma[float32], igamma[float64]),
	ops.Igammac:         special2(igammac[float32], igammac[float64]),
	ops.IgammaGradA:     special2(igammaSlope[float32], igammaSlope[float64]),
	ops.RandomGammaGrad: special2(gammaDraw[float32], gammaDraw[float64]),
	ops.Zeta:            special2(zeta[float32], zeta[float64]),
	ops.Polygamma:       special2(polygamma[float32], polygamma[float64]),
	ops.NextAfter:       plain(floats(pairs(nextAfter(math.Nextafter32)), pairs(nextAfter(math.Nextafter))).on(0)),
	ops.Betainc:         plain(floats(betaincEach[float32], betaincEach[float64]).on(0)),
	ops.Ndtri:           special1(quantile[float32], quantile[float64]),
	ops.BesselI0:        special1(besselI0[float32], besselI0[float64]),
	ops.BesselI0e:       special1(besselI0e[float32], besselI0e[float64]),
	ops.BesselI1:        special1(besselI1[float32], besselI1[float64]),
	ops.BesselI1e:       special1(besselI1e[float32], besselI1e[float64]),
	ops.BesselK0:        special1(besselK0[float32], besselK0[float64]),
	ops.BesselK0e:       special1(besselK0e[float32], besselK0e[float64]),
	ops.BesselK1:        special1(besselK1[float32], besselK1[float64]),
	ops.BesselK1e:       special1(besselK1e[float32], besselK1e[float64]),
	ops.BesselJ0:        special1(besselJ0[float32], besselJ0[float64]),
	ops.BesselJ1:        special1(besselJ1[float32], besselJ1[float64]),
	ops.BesselY0:        special1(besselY0[float32], besselY0[float64]),
	ops.BesselY1:        special1(besselY1[float32], besselY1[float64]),
}

// special1 makes a maker of a kernel on single numbers.
func special1(f32 func(float32) float32, f64 func(float64) float64) maker {
	return plain(floats(each1(f32), each1(f64)).on(0))
}

// special2 makes a maker of a kernel on pairs of numbers. Some pairs take long: it ends with its context.
func special2(f32 func(a, b float32) float32, f64 func(a, b float64) float64) maker {
	return plain(floats(patient(f32), patient(f64)).on(0))
}

func patient[T float](f func(a, b T) T) kernel {
	return func(c call) error {
		n, ended := 0, false
		err := pairs(func(a, b T) T {
			if n++; n%256 == 0 && !ended {
				ended = c.ctx.Err() != nil
			}
			if ended {
				return 0
			}
			return f(a, b)
		})(c)
		return cmp.Or(err, c.ctx.Err())
	}
}

// nextAfter is y where x equals it, as C has it: a zero of the other sign.
func nextAfter[T float](f func(x, y T) T) func(x, y T) T {
	return func(x, y T) T {
		if x == y {
			return y
		}
		return f(x, y)
	}
}
