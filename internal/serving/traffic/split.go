package traffic

import (
	"hash/fnv"
	"math"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Split divides requests between versions that are there. The zero value has none. It is safe for concurrent use.
type Split struct {
	versions []int64
	weights  []float64 // of versions; all above 0
	sum      float64
	main     int // the version of the largest weight
}

// Among makes the split of the versions with weight that are there; those that are not leave their share to the others.
func (r Rules) Among(there func(version int64) bool) Split {
	var s Split
	for _, w := range r.Weights {
		if w.Weight == 0 || !there(w.Version) {
			continue
		}
		s.versions = append(s.versions, w.Version)
		s.weights = append(s.weights, float64(w.Weight))
		s.sum += float64(w.Weight)
		if s.weights[s.main] < float64(w.Weight) {
			s.main = len(s.weights) - 1
		}
	}
	return s
}

// Empty reports whether no version has a weight: requests are not divided.
func (s *Split) Empty() bool { return len(s.versions) == 0 }

// Main is the version of the largest weight, of equal ones the first. The Split is not empty.
func (s *Split) Main() int64 { return s.versions[s.main] }

// Share is the part of the requests that a version gets, 0 to 1.
func (s *Split) Share(version int64) float64 {
	for i, v := range s.versions {
		if v == version {
			return s.weights[i] / s.sum
		}
	}
	return 0
}

// A Sequence spreads points evenly over [0, 1): multiples of the golden ratio, so that each share of any number of requests in a row is met
// within one or two, and so is the share of every other request. The zero value is ready; it is safe for concurrent use.
type Sequence struct{ n atomic.Uint64 }

// golden is the golden ratio less 1, in units of 2^-64.
const golden = 0x9E3779B97F4A7C15

// Next returns the next point.
func (s *Sequence) Next() float64 { return unit(s.n.Add(golden)) }

// unit maps 64 bits to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// Pick returns the version at a point of [0, 1), on which the shares lie side by side. The Split is not empty.
func (s *Split) Pick(point float64) int64 {
	at := point * s.sum
	for i, w := range s.weights {
		if at < w {
			return s.versions[i]
		}
		at -= w
	}
	return s.versions[len(s.versions)-1]
}

// PickBy returns the version of a key: the same one for as long as the weights stay. It is weighted rendezvous hashing (Schindelhauer and
// Schomaker, 2005): a change of one weight moves only the keys that the version gains or loses, and the keys of a version that goes are
// divided by the weights of the others. The Split is not empty.
func (s *Split) PickBy(key string) int64 {
	h := fnv.New64a() // the same on every server, and after a restart
	_, _ = h.Write([]byte(key))
	best, at := math.Inf(-1), 0
	for i, w := range s.weights {
		u := unit(splitmix.Mix(h.Sum64(), uint64(s.versions[i]))) + 1.0/(1<<54) // in (0, 1)
		if score := -w / math.Log(u); score > best {
			best, at = score, i
		}
	}
	return s.versions[at]
}
