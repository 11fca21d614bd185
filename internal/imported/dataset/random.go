package dataset

import (
	"math/rand/v2"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// philox is the counter-based generator Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (2011), seeded by two numbers as in tf.data. It returns one word after another.
type philox struct {
	key     [2]uint32
	counter [4]uint32
	words   [4]uint32
	used    int // words of the block
}

func newPhilox(seed, seed2 int64) *philox {
	return &philox{key: [2]uint32{uint32(seed), uint32(uint64(seed) >> 32)}, counter: [4]uint32{2: uint32(seed2), 3: uint32(uint64(seed2) >> 32)}, used: 4}
}

func (p *philox) next() uint32 {
	if p.used == len(p.words) {
		p.words, p.used = p.block(), 0
		for i := range p.counter {
			if p.counter[i]++; p.counter[i] != 0 {
				break
			}
		}
	}
	p.used++
	return p.words[p.used-1]
}

// block returns the four words of the present counter.
func (p *philox) block() [4]uint32 {
	c, k0, k1 := p.counter, p.key[0], p.key[1]
	for range 10 {
		x, y := 0xD2511F53*uint64(c[0]), 0xCD9E8D57*uint64(c[2])
		c = [4]uint32{uint32(y>>32) ^ c[1] ^ k0, uint32(y), uint32(x>>32) ^ c[3] ^ k1, uint32(x)}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// Seeds returns the seed of each pass. It is safe for concurrent use.
type Seeds struct {
	seed, seed2 int64

	mu sync.Mutex
	r  *philox // nil if all passes have the same seed
}

// NewSeeds returns Seeds that give each pass new seeds if fresh is set. Two zeros mean that no seed was chosen.
func NewSeeds(seed, seed2 int64, fresh bool) *Seeds {
	if seed == 0 && seed2 == 0 {
		seed, seed2 = rand.Int64(), rand.Int64()
	}
	s := &Seeds{seed: seed, seed2: seed2}
	if fresh {
		s.r = newPhilox(seed, seed2)
	}
	return s
}

func (s *Seeds) next() (seed, seed2 int64) {
	if s.r == nil {
		return s.seed, s.seed2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.r.next()), int64(s.r.next())
}

// Random is the Dataset of endless random numbers.
func Random(s *Seeds) Dataset { return random{s} }

type random struct{ s *Seeds }

func (random) Cardinality() int64 { return Infinite }

func (r random) Iterator(p *Pass) (Iterator, error) {
	gen := newPhilox(r.s.next())
	d := &source{Infinite, func(int64) (Element, error) { return Element{{T: tensor.Scalar(int64(gen.next()))}}, nil }}
	return d.Iterator(p)
}
