package eager

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// specialOps are special functions, computed in float64.
var specialOps = map[*ops.Def]maker{
	ops.Igamma:    special2(igamma),
	ops.Igammac:   special2(func(a, x float64) float64 { return igammac(a, x) }),
	ops.Zeta:      special2(zeta),
	ops.Polygamma: special2(polygamma),
	ops.NextAfter: plain(floats(pairs(math.Nextafter32), pairs(math.Nextafter)).on(0)),
	ops.Betainc:   plain(floats(betaincEach[float32], betaincEach[float64]).on(0)),
}

// special2 makes a maker of a kernel on pairs of numbers. Some pairs take long: it ends with its context.
func special2(f func(a, b float64) float64) maker {
	return plain(func(c call) error {
		n, ended := 0, false
		until := func(a, b float64) float64 {
			if n++; n%256 == 0 && !ended {
				ended = c.ctx.Err() != nil
			}
			if ended {
				return 0
			}
			return f(a, b)
		}
		err := floats(pairs(func(a, b float32) float32 { return float32(until(float64(a), float64(b))) }), pairs(until)).on(0)(c)
		return cmp.Or(err, c.ctx.Err())
	})
}

// mostTerms bounds the terms of a series. TensorFlow's ends after 2000: neither converges for parameters of more than millions.
const mostTerms = 1e4

// igamma is the lower regularized incomplete gamma function.
func igamma(a, x float64) float64 {
	switch {
	case a != a || x != x || a <= 0 || x < 0:
		return math.NaN()
	case x == 0:
		return 0
	case math.IsInf(x, 1):
		return 1
	case x > 1 && x > a:
		return 1 - igammac(a, x)
	}
	// The power series, DLMF 8.11.4.
	sum, term := 1.0, 1.0
	for k := a + 1; term > sum*1e-17 && k < a+mostTerms; k++ {
		term *= x / k
		sum += term
	}
	return sum * incompleteScale(a, x) / a
}

// incompleteScale is x^a·exp(-x)/Γ(a).
func incompleteScale(a, x float64) float64 {
	lg, _ := math.Lgamma(a)
	return math.Exp(a*math.Log(x) - x - lg)
}

// igammac is the upper regularized incomplete gamma function.
func igammac(a, x float64) float64 {
	switch {
	case a != a || x != x || a <= 0 || x < 0:
		return math.NaN()
	case math.IsInf(x, 1):
		return 0
	case x <= 1 || x <= a:
		return 1 - igamma(a, x)
	}
	// The continued fraction, DLMF 8.9.2, by Lentz's method.
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < mostTerms; i++ {
		an := -i * (i - a)
		b += 2
		d = 1 / nonzero(an*d+b, tiny)
		c = nonzero(b+an/c, tiny)
		h *= c * d
		if math.Abs(c*d-1) < 1e-16 {
			break
		}
	}
	return h * incompleteScale(a, x)
}

func nonzero(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}

// zeta is the Hurwitz zeta function, by Euler and Maclaurin's sum. Poles are where Cephes has them.
func zeta(x, q float64) float64 {
	switch {
	case x == 1:
		return math.Inf(1)
	case !(x > 1) || q != q:
		return math.NaN()
	case q <= 0 && q == math.Floor(q):
		return math.Inf(1)
	case q <= 0 && x != math.Floor(x):
		return math.NaN()
	case q < 0:
		return zetaBelow(x, q)
	}
	sum := 0.0
	for n := 0; q < 10 || n < 10; n++ {
		sum += math.Pow(q, -x)
		q++
	}
	power := math.Pow(q, -x)
	sum += q*power/(x-1) + power/2
	factor := x * power / q
	for k, b := range bernoulliOver {
		sum += b * factor
		j := float64(2*k + 1)
		factor *= (x + j) * (x + j + 1) / (q * q)
	}
	return sum
}

// zetaBelow is zeta for a q below 0 that is no integer, and an integer x: the terms with negative bases are the difference of two sums.
func zetaBelow(x, q float64) float64 {
	n := math.Ceil(-q)
	above := zeta(x, q+n)
	least := -q - (n - 1) // the smallest size of a base below 0
	below := zeta(x, least) - zeta(x, least+n)
	if math.Mod(x, 2) != 0 {
		below = -below
	}
	return above + below
}

// bernoulliOver are Bernoulli's numbers B(2k)/(2k)!.
var bernoulliOver = [...]float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000, 1. / 74724249600, -3617. / 10670622842880000}

// polygamma is the n-th derivative of digamma.
func polygamma(n, x float64) float64 {
	switch {
	case n < 0 || n != math.Floor(n):
		return math.NaN()
	case n == 0:
		return digamma(x)
	}
	lg, _ := math.Lgamma(n + 1)
	v := math.Exp(lg) * zeta(n+1, x)
	if math.Mod(n, 2) == 0 {
		v = -v
	}
	return v
}

// betainc is the regularized incomplete beta function.
func betainc(a, b, x float64) float64 {
	switch {
	case a != a || b != b || x != x || a <= 0 || b <= 0 || x < 0 || x > 1:
		return math.NaN()
	case x == 0 || x == 1:
		return x
	case x > (a+1)/(a+b+2):
		return 1 - betainc(b, a, 1-x)
	}
	lab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	// The continued fraction, DLMF 8.17.22, by Lentz's method.
	const tiny = 1e-300
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1), tiny)
	h := d
	for m := 1.0; m < mostTerms; m++ {
		for _, n := range [2]float64{m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)), -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))} {
			d = 1 / nonzero(1+n*d, tiny)
			c = nonzero(1+n/c, tiny)
			h *= c * d
		}
		if math.Abs(c*d-1) < 1e-16 {
			break
		}
	}
	return front * h / a
}

// betaincEach takes three inputs of one shape; scalars stand for all elements.
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
	at := func(k, i int) float64 {
		v := tensor.Values[T](c.t(k))
		return float64(v[min(i, len(v)-1)])
	}
	for i := range dst {
		if i%1024 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		dst[i] = T(betainc(at(0, i), at(1, i), at(2, i)))
	}
	return nil
}
