package eager

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/special"
	"github.com/goestimator/goestimator/tensor"
)

// specialOps are special functions in the precision of their elements.
var specialOps = map[*ops.Def]maker{
	ops.Digamma:         special1(special.Digamma[float32], special.Digamma[float64]),
	ops.Ndtri:           special1(special.NormalQuantile[float32], special.NormalQuantile[float64]),
	ops.Dawsn:           special1(special.Dawson[float32], special.Dawson[float64]),
	ops.Expint:          special1(special.ExpIntegral[float32], special.ExpIntegral[float64]),
	ops.FresnelCos:      special1(special.FresnelCos[float32], special.FresnelCos[float64]),
	ops.FresnelSin:      special1(special.FresnelSin[float32], special.FresnelSin[float64]),
	ops.Spence:          special1(special.Spence[float32], special.Spence[float64]),
	ops.BesselI0:        special1(special.BesselI0[float32], special.BesselI0[float64]),
	ops.BesselI0e:       special1(special.BesselI0e[float32], special.BesselI0e[float64]),
	ops.BesselI1:        special1(special.BesselI1[float32], special.BesselI1[float64]),
	ops.BesselI1e:       special1(special.BesselI1e[float32], special.BesselI1e[float64]),
	ops.BesselK0:        special1(special.BesselK0[float32], special.BesselK0[float64]),
	ops.BesselK0e:       special1(special.BesselK0e[float32], special.BesselK0e[float64]),
	ops.BesselK1:        special1(special.BesselK1[float32], special.BesselK1[float64]),
	ops.BesselK1e:       special1(special.BesselK1e[float32], special.BesselK1e[float64]),
	ops.BesselJ0:        special1(special.BesselJ0[float32], special.BesselJ0[float64]),
	ops.BesselJ1:        special1(special.BesselJ1[float32], special.BesselJ1[float64]),
	ops.BesselY0:        special1(special.BesselY0[float32], special.BesselY0[float64]),
	ops.BesselY1:        special1(special.BesselY1[float32], special.BesselY1[float64]),
	ops.Igamma:          special2(special.LowerGamma[float32], special.LowerGamma[float64]),
	ops.Igammac:         special2(special.UpperGamma[float32], special.UpperGamma[float64]),
	ops.IgammaGradA:     special2(special.LowerGammaSlope[float32], special.LowerGammaSlope[float64]),
	ops.RandomGammaGrad: special2(special.GammaSampleSlope[float32], special.GammaSampleSlope[float64]),
	ops.Zeta:            special2(special.Zeta[float32], special.Zeta[float64]),
	ops.Polygamma:       special2(special.Polygamma[float32], special.Polygamma[float64]),
	ops.Betainc:         plain(floats(betaincEach[float32], betaincEach[float64]).on(0)),
	ops.NextAfter:       plain(floats(pairs(nextAfter(math.Nextafter32)), pairs(nextAfter(math.Nextafter))).on(0)),
}

// special1 returns a maker of a kernel on single numbers.
func special1(f32 func(float32) float32, f64 func(float64) float64) maker {
	return plain(floats(each1(f32), each1(f64)).on(0))
}

func each1[T float](f func(T) T) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		for i, v := range tensor.Values[T](c.t(0)) {
			if i%1024 == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			dst[i] = f(v)
		}
		return nil
	}
}

// special2 returns a maker of a kernel on pairs of numbers. Some pairs take long, so it checks its context.
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

// nextAfter returns y if x equals it, like C's function: x and y may be zeros with different signs.
func nextAfter[T float](f func(x, y T) T) func(x, y T) T {
	return func(x, y T) T {
		if x == y {
			return y
		}
		return f(x, y)
	}
}

// betaincEach takes three inputs of the same shape; scalars are broadcast.
func betaincEach[T float](c call) error {
	if err := sameType(c.in); err != nil {
		return err
	}
	var shape []int
	for i := range c.in {
		own := c.t(i).Shape
		if len(own) > 0 && shape != nil && !slices.Equal(own, shape) {
			return fmt.Errorf("Shapes of a, b and x are inconsistent: %s and %s", shapeText(shape), shapeText(own))
		}
		if len(own) > 0 {
			shape = own
		}
	}
	dst, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	at := func(k, i int) T {
		v := tensor.Values[T](c.t(k))
		return v[min(i, len(v)-1)]
	}
	for i := range dst {
		if i%1024 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		dst[i] = special.IncompleteBeta(at(0, i), at(1, i), at(2, i))
	}
	return nil
}
