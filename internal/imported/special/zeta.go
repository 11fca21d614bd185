package special

import "math"

// Zeta is the Hurwitz zeta function Σ (q+k)^-x over k from 0 on, by Euler–Maclaurin summation after nine terms. It has Cephes's poles.
func Zeta[T Float](x, q T) T {
	whole := floorOf(x) == x
	even := whole && (x >= 1<<63 || math.Mod(float64(x), 2) == 0)
	switch {
	case x == 1:
		return T(math.Inf(1))
	case x < 1:
		return T(math.NaN())
	case q <= 0 && floorOf(q) == q && even:
		return T(math.Inf(1))
	case q <= 0 && (floorOf(q) == q || !whole):
		return T(math.NaN())
	case q < farBelow && !single[T]() && math.IsInf(float64(x), 1):
		return x
	case q < farBelow && !single[T]():
		return T(zetaBelow(float64(x), float64(q)))
	}
	sum := normal(powOf(q, -x))
	last := T(0)
	for i := 0; i < 9 || q <= 9 && !single[T](); i++ {
		q++
		last = normal(powOf(q, -x))
		sum += last
		if absOf(last/sum) < unit[T]() {
			return sum
		}
	}
	if last == 0 {
		return sum
	}
	sum += last * q / (x - 1)
	sum -= last / 2
	return zetaTail(sum, x, q, last)
}

// zetaTail adds the terms with Bernoulli numbers to a sum whose last term is q^-x.
func zetaTail[T Float](sum, x, q, last T) T {
	factor, n := T(1), T(0)
	for _, b := range bernoulliOver {
		factor *= x + n
		last = normal(last / q)
		term := normal(factor * last * T(b))
		sum += term
		if absOf(term/sum) < unit[T]() {
			break
		}
		factor *= x + n + 1
		n += 2
		last = normal(last / q)
	}
	return sum
}

// farBelow is where terms with negative bases stop being added one by one, since there can be too many of them.
const farBelow = -1000

// zetaBelow is Zeta for a non-integer q below 0 and an integer x: the sum of the terms with negative bases is a difference of two zetas.
func zetaBelow(x, q float64) float64 {
	n := math.Ceil(-q)
	above := Zeta(x, q+n)
	least := -q - (n - 1) // the smallest absolute value of a negative base
	below := Zeta(x, least) - Zeta(x, least+n)
	if math.Mod(x, 2) != 0 {
		below = -below
	}
	return above + below
}

// bernoulliOver has the Bernoulli numbers B(2k), divided by (2k)!.
var bernoulliOver = [...]float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000, 1. / 74724249600, -3617. / 10670622842880000,
	43867. / 5109094217170944000, -174611. / 802857662698291200000, 854513. / 155112100433309859840000, -236364091. / 1693824136731743669452800000}

// Polygamma is the n-th derivative of Digamma at x, NaN if n is not a natural number.
func Polygamma[T Float](n, x T) T {
	switch {
	case n < 0 || floorOf(n) != n:
		return T(math.NaN())
	case n == 0:
		return Digamma(x)
	}
	factor := expOf(Lgamma(n + 1))
	if math.Mod(float64(n+1), 2) == 1 { // false if n is infinite
		factor = -factor
	}
	return factor * Zeta(n+1, x)
}
