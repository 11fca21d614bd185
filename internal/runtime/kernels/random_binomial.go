package kernels

import "math"

// reservedPerInversion is the number of counters that TensorFlow skips for an output by inversion.
const reservedPerInversion = 42

// BinomialParameters are a number of trials and their probability of success, in the operands' type T: TensorFlow chooses the
// algorithm by a product in that type.
type BinomialParameters[T float32 | float64] struct{ Count, Probability T }

// Binomial returns number i of a stream of binomial variates: StatelessRandomBinomial. It inverts the distribution if few successes
// (or failures) are expected, else it uses Hörmann's transformed rejection (1993, BTRS). A negative number of trials gives 0, and
// a probability of NaN gives NaN.
func Binomial[T float32 | float64](r Rand, i uint64, b BinomialParameters[T]) float64 {
	n, p := b.Count, b.Probability
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return float64(n)
	case p <= 0.5:
		return successes(r, i, n, p)
	case p > 0.5:
		return float64(n) - successes(r, i, n, 1-p)
	}
	return math.NaN()
}

func successes[T float32 | float64](r Rand, i uint64, n, p T) float64 {
	if n*p >= 10 {
		r = r.Skip(reservedPerOutput * i)
		stream := newPhilox(r.Key, r.Counter)
		return rejectedBinomial(&stream, float64(n), float64(p))
	}
	r = r.Skip(reservedPerInversion * i)
	stream := newPhilox(r.Key, r.Counter)
	return invertedBinomial(&stream, float64(n), float64(p))
}

// invertedBinomial counts how many geometric waiting times fit into n trials.
func invertedBinomial(stream *philox, n, p float64) (found float64) {
	uniforms, scale := pairs{kind: uniform}, math.Log1p(-p)
	for trials := 0.0; ; found++ {
		if trials += math.Ceil(math.Log(uniforms.next(stream)) / scale); !(trials <= n) {
			return found
		}
	}
}

func rejectedBinomial(stream *philox, n, p float64) float64 {
	uniforms, deviation := pairs{kind: uniform}, math.Sqrt(n*p*(1-p))
	b := 1.15 + 2.53*deviation
	a := -0.0873 + 0.0248*b + 0.01*p
	alpha, odds, mode := (2.83+5.1/b)*deviation, p/(1-p), math.Floor((n+1)*p)
	for {
		u := uniforms.next(stream) - 0.5
		v := uniforms.next(stream)
		shifted := 0.5 - math.Abs(u)
		k := math.Floor((2*a/shifted+b)*u + n*p + 0.5)
		if shifted >= 0.07 && v <= 0.92-4.2/b {
			return k
		}
		if k < 0 || k > n {
			continue
		}
		bound := (mode+0.5)*math.Log((mode+1)/(odds*(n-mode+1))) + (n+1)*math.Log((n-mode+1)/(n-k+1)) + (k+0.5)*math.Log(odds*(n-k+1)/(k+1)) +
			stirlingTail(mode) + stirlingTail(n-mode) - stirlingTail(k) - stirlingTail(n-k)
		if math.Log(v*alpha/(a/(shifted*shifted)+b)) <= bound {
			return k
		}
	}
}

// stirlingTails are the errors of Stirling's approximation of log k!, by k.
var stirlingTails = [...]float64{0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
	0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287}

func stirlingTail(k float64) float64 {
	if k <= 9 {
		return stirlingTails[int(k)]
	}
	square := (k + 1) * (k + 1)
	return (1.0/12 - (1.0/360-1.0/1260/square)/square) / (k + 1)
}
