package traffic

import (
	"hash/fnv"
	"math"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Split divides requests between available versions. The zero value has none. It is safe for concurrent use.
type Split struct {
	versions []int64
	weights  []float64 // of versions; all above 0
	sum      float64
	main     int // index of the version with the largest weight
}

// Among returns the split between the available versions that have a weight; the shares of all other versions go to these.
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

// Empty reports whether no version has a weight, so that requests are not divided.
func (s *Split) Empty() bool { return len(s.versions) == 0 }

// Main is the version with the largest weight, the first one of equals. The Split must not be empty.
func (s *Split) Main() int64 { return s.versions[s.main] }

// Share is a version's share of the requests, 0 to 1.
func (s *Split) Share(version int64) float64 {
	for i, v := range s.versions {
		if v == version {
			return s.weights[i] / s.sum
		}
	}
	return 0
}

// A Sequence spreads points evenly over [0, 1): multiples of the golden ratio. Among any number of consecutive requests, and among every
// other request, each share is off by at most one or two. The zero value is ready; it is safe for concurrent use.
type Sequence struct{ n atomic.Uint64 }

// golden is the golden ratio minus 1, in units of 2^-64.
const golden = 0x9E3779B97F4A7C15

// Next returns the next point.
func (s *Sequence) Next() float64 { return unit(s.n.Add(golden)) }

// unit maps 64 bits to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// Pick returns the version at a point of [0, 1), which the shares divide. The Split must not be empty.
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

// PickBy returns the version for a key, which stays the same as long as the weights do. It is weighted rendezvous hashing (Schindelhauer
// and Schomaker, 2005): if one weight changes, only keys that this version gains or loses move; if a version disappears, its keys are
// divided by the weights of the others. The Split must not be empty.
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
