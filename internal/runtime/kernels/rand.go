package kernels

import "math/bits"

// Rand is a stream of random numbers: the key and counter inputs of TensorFlow's StatelessRandom*V2 ops with
// algorithm 1 (Philox). A stream gives the same numbers on any number of threads.
type Rand struct {
	Key     uint64
	Counter [2]uint64
}

// Seeded returns the stream for the attributes seed and seed2 of TensorFlow's stateful ops.
func Seeded(seed, seed2 uint64) Rand { return Rand{Key: seed, Counter: [2]uint64{0, seed2}} }

// Scrambled returns the stream for the seed of TensorFlow's stateless ops: StatelessRandomGetKeyCounter.
func Scrambled(seed [2]uint64) Rand {
	p := newPhilox(0x3ec8f720|0x02461e29<<32, seed)
	w := p.next()
	return Rand{Key: uint64(w[0]) | uint64(w[1])<<32, Counter: [2]uint64{0, uint64(w[2]) | uint64(w[3])<<32}}
}

// Skip returns the stream n counters ahead. Each counter gives four words.
func (r Rand) Skip(n uint64) Rand {
	lo, carry := bits.Add64(r.Counter[0], n, 0)
	return Rand{Key: r.Key, Counter: [2]uint64{lo, r.Counter[1] + carry}}
}

// Words reads a stream word by word.
type Words struct {
	p    philox
	have [4]uint32
	used int
}

// Words returns a reader of the stream from its beginning.
func (r Rand) Words() *Words { return &Words{p: newPhilox(r.Key, r.Counter), used: 4} }

// Next returns the next word.
func (w *Words) Next() uint32 {
	if w.used == len(w.have) {
		w.have, w.used = w.p.next(), 0
	}
	w.used++
	return w.have[w.used-1]
}

// Float64 returns a number in [0, 1), made from two words.
func (w *Words) Float64() float64 {
	a := w.Next()
	return unit64(a, w.Next())
}

// Float32 returns a number in [0, 1), made from one word.
func (w *Words) Float32() float32 { return unit32(w.Next()) }

// Below32 returns a number in [0, n) like TensorFlow's SimplePhilox.Uniform. n must be above 0.
func (w *Words) Below32(n uint32) uint32 {
	if n&(n-1) == 0 {
		return w.Next() & (n - 1)
	}
	least := ^uint32(0)%n + 1
	for {
		if v := w.Next(); v >= least {
			return v % n
		}
	}
}

// Below returns a number in [0, n), made from two words or more, like TensorFlow's SimplePhilox.Uniform64. n must be above 0.
func (w *Words) Below(n uint64) uint64 {
	last := ^uint64(0) - (^uint64(0)%n+1)%n // end of a whole number of ranges of n
	for {
		low := uint64(w.Next())
		if v := low | uint64(w.Next())<<32; v <= last {
			return v % n
		}
	}
}
