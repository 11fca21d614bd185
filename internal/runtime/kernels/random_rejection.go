package kernels

import "math"

// reservedPerOutput is the number of counters that TensorFlow reserves for an output of a rejection sampler.
const reservedPerOutput = 256

// pairs draws doubles from a stream in pairs and returns the second of each pair first, like TensorFlow's rejection samplers.
type pairs struct {
	kind randKind
	pair [4]float64
	left int
}

func (d *pairs) next(p *philox) float64 {
	if d.left == 0 {
		d.pair, d.left = draw[float64](d.kind, p.next()), 2
	}
	d.left--
	return d.pair[d.left]
}

// Gamma returns number i of a stream of gamma variates of shape alpha: RandomGamma (Marsaglia and Tsang 2000).
func Gamma(r Rand, i uint64, alpha float64) float64 {
	r = r.Skip(reservedPerOutput * i)
	p := newPhilox(r.Key, r.Counter)
	uniforms, normals := pairs{kind: uniform}, pairs{kind: normal}
	if alpha == 1 {
		return -math.Log1p(-uniforms.next(&p))
	}
	d := alpha - 1.0/3
	if alpha < 1 {
		d = alpha + 2.0/3
	}
	c := 1.0 / 3 / math.Sqrt(d)
	for {
		x := normals.next(&p)
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := uniforms.next(&p)
		if u < 1-0.0331*(x*x)*(x*x) || math.Log(u) < 0.5*x*x+d*(1-v+math.Log(v)) {
			if alpha < 1 {
				return d * v * math.Pow(uniforms.next(&p), 1/alpha)
			}
			return d * v
		}
	}
}

// Poisson returns number i of a stream of Poisson variates up to most, and whether one was found: RandomPoissonV2. For rates
// below 10 it multiplies uniforms (Knuth), otherwise it uses Hörmann's transformed rejection (1993).
func Poisson(r Rand, i uint64, rate, most float64) (float64, bool) {
	r = r.Skip(reservedPerOutput * i)
	p := newPhilox(r.Key, r.Counter)
	switch {
	case math.IsInf(rate, 1):
		return rate, true
	case rate < 10:
		return smallPoisson(&p, rate, most), true
	}
	return largePoisson(&p, rate, most)
}

func smallPoisson(p *philox, rate, most float64) (x float64) {
	uniforms, end := pairs{kind: uniform}, math.Exp(-rate)
	for product := 1.0; ; x++ {
		if product *= uniforms.next(p); product <= end && x <= most {
			return x
		}
	}
}

// largestTries is the number of tries after which a rejection sampler gives up. Two in three tries succeed.
const largestTries = 1000

func largePoisson(p *philox, rate, most float64) (float64, bool) {
	uniforms, logRate := pairs{kind: uniform}, math.Log(rate)
	b := 0.931 + 2.53*math.Sqrt(rate)
	a := -0.059 + 0.02483*b
	inverse := 1.1239 + 1.1328/(b-3.4)
	for range largestTries {
		u := uniforms.next(p) - 0.5
		v := uniforms.next(p)
		shifted := 0.5 - math.Abs(u)
		k := math.Floor((2*a/shifted+b)*u + rate + 0.43)
		if k > most {
			continue
		}
		if shifted >= 0.07 && v <= 0.9277-3.6224/(b-2) {
			return k, true
		}
		if k < 0 || shifted < 0.013 && v > shifted {
			continue
		}
		gamma, _ := math.Lgamma(k + 1)
		if math.Log(v*inverse/(a/(shifted*shifted)+b)) <= -rate+k*logRate-gamma {
			return k, true
		}
	}
	return 0, false
}
