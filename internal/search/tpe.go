package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The tree-structured Parzen estimator of Bergstra, Bardenet, Bengio and Kégl, "Algorithms for Hyper-Parameter Optimization", 2011, for
// each parameter separately: of values that are likely among good trials, it takes the one that is least likely among the others.
const (
	atRandom   = 10 // trials before the estimator is used
	candidates = 24
	mostGood   = 25 // good trials are a tenth of all, at most this many
)

// split divides the results into good ones and others; good is empty while there are too few.
func (s *Search) split() (good, bad []Result) {
	var all []Result
	for _, r := range s.Results() {
		if _, ok := r.Got(); ok {
			all = append(all, r)
		} else {
			bad = append(bad, r)
		}
	}
	if len(all) < atRandom {
		return nil, nil
	}
	all = s.ranked(all)
	n := min((len(all)+9)/10, mostGood)
	return all[:n], append(all[n:len(all):len(all)], bad...)
}

// placesOf are the positions of the values in results, without the config's own values outside of the range.
func placesOf(p Parameter, list []Result) []float64 {
	var places []float64
	for _, r := range list {
		if x, ok := p.place(r.Values[p.Key]); ok && (p.listed() || x >= p.low() && x <= p.high()) {
			places = append(places, x)
		}
	}
	return places
}

// suggest returns the candidate that good trials favour most.
func (p Parameter) suggest(r *rand.Rand, good, bad []float64) any {
	if p.listed() {
		return p.Values[suggestChoice(r, len(p.Values), good, bad)]
	}
	likely, others := newParzen(p.low(), p.high(), good), newParzen(p.low(), p.high(), bad)
	best, most := 0.0, math.Inf(-1)
	for range candidates {
		x := likely.draw(r)
		if ratio := likely.logDensity(x) - others.logDensity(x); ratio > most {
			best, most = x, ratio
		}
	}
	return p.at(best)
}

// suggestChoice chooses among n values; the counts of all values start at one.
func suggestChoice(r *rand.Rand, n int, good, bad []float64) int {
	count := func(places []float64) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = 1 / float64(len(places)+n)
		}
		for _, x := range places {
			w[int(x)] += 1 / float64(len(places)+n)
		}
		return w
	}
	likely, others := count(good), count(bad)
	best, most := 0, math.Inf(-1)
	for range candidates {
		u, i := r.Float64(), 0
		for ; i < n-1 && u >= likely[i]; i++ {
			u -= likely[i]
		}
		if ratio := math.Log(likely[i]) - math.Log(others[i]); ratio > most {
			best, most = i, ratio
		}
	}
	return best
}

// parzen is a mixture of normal distributions, truncated at the ends of a line: one around each position, as wide as the distance to its
// farther neighbour, and a wide one in the middle.
type parzen struct {
	low, high    float64
	means, sigma []float64
}

func newParzen(low, high float64, places []float64) parzen {
	d := parzen{low: low, high: high}
	middle := (low + high) / 2
	all := slices.Sorted(slices.Values(append(slices.Clone(places), middle)))
	least := (high - low) / float64(min(100, 1+len(all)))
	prior, _ := slices.BinarySearchFunc(all, middle, cmp.Compare[float64])
	for i, x := range all {
		left, right := low, high
		if i > 0 {
			left = all[i-1]
		}
		if i+1 < len(all) {
			right = all[i+1]
		}
		width := min(max(x-left, right-x, least), high-low)
		if i == prior {
			width = high - low
		}
		d.means, d.sigma = append(d.means, x), append(d.sigma, width)
	}
	return d
}

// below is the probability of values below x.
func below(x, mean, sigma float64) float64 { return 0.5 * math.Erfc((mean-x)/(sigma*math.Sqrt2)) }

func (d parzen) draw(r *rand.Rand) float64 {
	i := r.IntN(len(d.means))
	for range 1 << 10 { // a mean is on the line, so at least a quarter of its distribution is, too
		if x := d.means[i] + d.sigma[i]*r.NormFloat64(); x >= d.low && x < d.high {
			return x
		}
	}
	return d.means[i]
}

func (d parzen) logDensity(x float64) float64 {
	sum := 0.0
	for i, m := range d.means {
		z := (x - m) / d.sigma[i]
		inside := below(d.high, m, d.sigma[i]) - below(d.low, m, d.sigma[i])
		sum += math.Exp(-z*z/2) / (d.sigma[i] * inside)
	}
	return math.Log(sum / float64(len(d.means)))
}
