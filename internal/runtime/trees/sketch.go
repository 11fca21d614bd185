package trees

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrSketch is wrapped by errors about bytes that are not a valid sketch.
var ErrSketch = errors.New("invalid quantile sketch")

// Sketch summarises the distribution of a feature's weighted numbers in space that does not grow with their count. The
// rank of every number is known to within epsilon times the total weight. Sketches of parts of the data can be merged.
// It is the weighted quantile summary of T. Chen, C. Guestrin: XGBoost (2016), appendix, kept in levels as in
// M. Greenwald, S. Khanna (2004). NaN is left out.
type Sketch struct {
	size   int       // most entries of a level
	block  []uint64  // keys of numbers not yet in a level, in the upper 32 bits, above their index in weight
	weight []float64 // weights of these numbers
	levels [][]entry // level i stands for about 2^i blocks; nil: none
	spare  []uint64  // memory for sorting
}

// entry is a number with bounds of its rank: the weight below it is at least Min, and with its own weight at most Max.
type entry struct{ V, Min, Max, W float64 }

func (e entry) nextMin() float64 { return e.Min + e.W } // of the numbers above
func (e entry) prevMax() float64 { return e.Max - e.W } // of the numbers below

// levelsFor is the number of levels that a sketch is made for, 2^16 blocks. Each level adds to the error.
const levelsFor = 16

// NewSketch returns an empty sketch with error epsilon, from 1e-4 to 0.5.
func NewSketch(epsilon float64) *Sketch {
	return &Sketch{size: int(math.Ceil(levelsFor / min(max(epsilon, 1e-4), 0.5)))}
}

// Push adds numbers x[0], x[stride], x[2*stride]... weights has a weight for each; nil means all 1. Numbers without weight are
// left out.
func (s *Sketch) Push(x []float32, stride int, weights []float32) {
	full := 8 * s.size
	for i, at := 0, 0; at < len(x); i, at = i+1, at+stride {
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		if v := x[at]; v == v && w > 0 {
			s.block = append(s.block, uint64(orderedKey(v))<<32|uint64(len(s.weight)))
			s.weight = append(s.weight, w)
			if len(s.block) == full {
				s.flush()
			}
		}
	}
}

// orderedKey returns an integer that sorts like the float; 0 and -0 are equal.
func orderedKey(v float32) uint32 {
	b := math.Float32bits(v + 0)
	if b == 1<<31 {
		b = 0
	}
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func orderedFloat(k uint32) float32 {
	if k>>31 != 0 {
		return math.Float32frombits(k &^ (1 << 31))
	}
	return math.Float32frombits(^k)
}

// flush turns the block into a level.
func (s *Sketch) flush() {
	if len(s.block) == 0 {
		return
	}
	s.spare = grown(s.spare, len(s.block))
	sortKeys(s.block, s.spare)
	var sum float64
	var entries []entry
	for i := 0; i < len(s.block); {
		key, w := s.block[i]>>32, 0.0
		for ; i < len(s.block) && s.block[i]>>32 == key; i++ {
			w += s.weight[uint32(s.block[i])]
		}
		entries = append(entries, entry{float64(orderedFloat(uint32(key))), sum, sum + w, w})
		sum += w
	}
	s.block, s.weight = s.block[:0], s.weight[:0]
	s.add(prune(entries, s.size))
}

// add puts entries into the lowest free level, merged with all levels below.
func (s *Sketch) add(entries []entry) {
	for i := range s.levels {
		if s.levels[i] == nil {
			s.levels[i] = entries
			return
		}
		entries = prune(combine(s.levels[i], entries), s.size)
		s.levels[i] = nil
	}
	s.levels = append(s.levels, entries)
}

// Merge adds the numbers of other, which must not be used afterwards.
func (s *Sketch) Merge(other *Sketch) {
	if all := other.all(); len(all) > 0 {
		s.flush()
		s.add(all)
	}
}

// all merges everything into one list.
func (s *Sketch) all() []entry {
	s.flush()
	var all []entry
	for _, l := range s.levels {
		if l != nil {
			all = combine(all, l)
		}
	}
	s.levels = nil
	if len(all) > 0 {
		s.levels = [][]entry{all}
	}
	return all
}

// sortKeys sorts by the upper 32 bits, keeping the order of equal ones. spare is as long.
func sortKeys(keys, spare []uint64) {
	const bits = 11
	for shift := 32; shift < 64; shift += bits {
		var starts [1 << bits]int32
		for _, k := range keys {
			starts[k>>shift&(1<<bits-1)]++
		}
		var at int32
		for i, n := range starts {
			starts[i] = at
			at += n
		}
		for _, k := range keys {
			d := k >> shift & (1<<bits - 1)
			spare[starts[d]] = k
			starts[d]++
		}
		keys, spare = spare, keys
	}
	copy(spare, keys) // after three passes the result is in spare
}

// combine merges two summaries.
func combine(a, b []entry) []entry {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]entry, 0, len(a)+len(b))
	aMax, bMax := a[len(a)-1].Max, b[len(b)-1].Max
	var aMin, bMin float64 // weight known to be below the next entry
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x.V == y.V:
			out = append(out, entry{x.V, x.Min + y.Min, x.Max + y.Max, x.W + y.W})
			aMin, bMin = x.nextMin(), y.nextMin()
			a, b = a[1:], b[1:]
		case x.V < y.V:
			out = append(out, entry{x.V, x.Min + bMin, x.Max + y.prevMax(), x.W})
			aMin, a = x.nextMin(), a[1:]
		default:
			out = append(out, entry{y.V, y.Min + aMin, y.Max + x.prevMax(), y.W})
			bMin, b = y.nextMin(), b[1:]
		}
	}
	// The rest of one summary lies above all of the other.
	rest, below, most := a, bMin, bMax
	if len(a) == 0 {
		rest, below, most = b, aMin, aMax
	}
	for _, x := range rest {
		out = append(out, entry{x.V, x.Min + below, x.Max + most, x.W})
	}
	return out
}

// prune keeps about size entries whose ranks are evenly spread, and the first and last.
func prune(in []entry, size int) []entry {
	if len(in) <= size {
		return in
	}
	first, last := in[0].Max, in[len(in)-1].Min
	out := append(make([]entry, 0, size+2), in[0])
	at, took := 1, 0
	for k := 1; k < size; k++ {
		twice := 2 * (float64(k)*(last-first)/float64(size) + first)
		for at < len(in)-1 && twice >= in[at+1].Max+in[at+1].Min {
			at++
		}
		if at == len(in)-1 {
			break
		}
		pick := at
		if twice >= in[at].nextMin()+in[at+1].prevMax() {
			pick = at + 1
		}
		if pick != took {
			out, took = append(out, in[pick]), pick
		}
	}
	if took != len(in)-1 {
		out = append(out, in[len(in)-1])
	}
	return out
}

// Boundaries returns at most n-1 boundaries that divide the numbers into buckets of about equal weight. A number as heavy as
// a bucket gets its own bucket. So does every number if there are at most n different ones.
func (s *Sketch) Boundaries(n int) []float32 {
	all := s.all()
	if len(all) == 0 || n < 2 {
		return nil
	}
	weights, rest := masses(all)
	var out []float32
	if len(all) <= n {
		for _, e := range all[1:] {
			out = appendBoundary(out, e.V)
		}
		return out
	}
	heavy, limit := 0, rest/float64(n)
	for _, w := range weights {
		if w > limit {
			heavy++
			rest -= w
		}
	}
	left := max(n-heavy, 1)
	bucket, sum := rest/float64(left), 0.0
	for i, w := range weights[:len(weights)-1] {
		isHeavy := w > limit
		if !isHeavy {
			sum += w
			rest -= w
		}
		next := weights[i+1]
		if isHeavy || next > limit || sum+next/2 >= bucket {
			if len(out) == n-1 {
				break
			}
			out = appendBoundary(out, all[i+1].V)
			if !isHeavy {
				left = max(left-1, 1)
				bucket = rest / float64(left)
			}
			sum = 0
		}
	}
	return out
}

// masses returns the weight that each entry stands for, and their sum.
func masses(all []entry) (weights []float64, sum float64) {
	weights = make([]float64, len(all))
	before := 0.0
	for i, e := range all {
		to := e.Max
		if i+1 < len(all) {
			to = (e.nextMin() + all[i+1].prevMax()) / 2
		}
		weights[i] = max(to-before, 0)
		before = max(to, before)
		sum += weights[i]
	}
	return weights, sum
}

func appendBoundary(out []float32, v float64) []float32 {
	b := float32(v)
	if math.IsInf(v, 0) || len(out) > 0 && b <= out[len(out)-1] {
		return out
	}
	return append(out, b)
}

// MaxBytes returns the most bytes that AppendBinary appends.
func (s *Sketch) MaxBytes() int { return 4 + 32*(s.size+2) }

// AppendBinary appends the sketch to b.
func (s *Sketch) AppendBinary(b []byte) ([]byte, error) {
	all := prune(s.all(), s.size)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(all)))
	for _, e := range all {
		for _, v := range [4]float64{e.V, e.Min, e.Max, e.W} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b, nil
}

// MergeBinary merges a sketch that AppendBinary wrote and returns the bytes after it.
func (s *Sketch) MergeBinary(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("%w: %d bytes", ErrSketch, len(b))
	}
	n := int(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > len(b)/32 {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrSketch, n, len(b))
	}
	entries := make([]entry, n)
	for i := range entries {
		var v [4]float64
		for j := range v {
			v[j] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		e := entry{v[0], v[1], v[2], v[3]}
		if !(e.Min >= 0 && e.Max >= e.Min && e.W >= 0) || math.IsInf(e.Max, 0) || i > 0 && !(e.V > entries[i-1].V) || float64(float32(e.V)) != e.V {
			return nil, fmt.Errorf("%w: entry %d is %v", ErrSketch, i, v)
		}
		entries[i] = e
	}
	if n > 0 {
		s.flush()
		s.add(prune(entries, s.size))
	}
	return b, nil
}
