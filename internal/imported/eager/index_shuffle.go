package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// indexShuffle returns each index's place in a random order of 0..max_index, without storing the order: by a Simon block cipher of few
// rounds (Beaulieu et al. 2013), which is applied until the result is small enough (Black and Rogaway 2002).
func indexShuffle(s *site) (kernel, error) {
	rounds := s.count("rounds", 4, maxRounds)
	if rounds < 4 || rounds%2 != 0 {
		return nil, fmt.Errorf("rounds: expected an even number in 4..%d, got %d", maxRounds, rounds)
	}
	return func(c call) error {
		index, seed, most := c.t(0), c.t(1), c.t(2)
		for _, t := range []*tensor.Tensor{index, seed, most} {
			if !slices.Contains([]tensor.DType{tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64}, t.DType) {
				return fmt.Errorf("expected integers of 32 or 64 bits, got %v", t.DType)
			}
		}
		n := max(index.Len(), most.Len(), seed.Len()/3)
		if len(index.Shape) > 1 || len(index.Shape) == 1 && index.Shape[0] != n {
			return fmt.Errorf("Index bust be a scalar or vector.")
		}
		if last := len(seed.Shape) - 1; last < 0 || last > 1 || seed.Shape[last] != 3 || last == 1 && seed.Shape[0] != n {
			return fmt.Errorf("Seed must be a vector of size [3] or a matrix of size [%d, 3] but got %v.", n, seed.Shape)
		}
		if len(most.Shape) > 1 || len(most.Shape) == 1 && most.Shape[0] != n {
			return fmt.Errorf("Maxval must be a scalar or a vector of the same size as index but got %v", most.Shape)
		}
		shape := []int{n}
		if len(index.Shape) == 0 && len(seed.Shape) == 1 && len(most.Shape) == 0 {
			shape = nil
		}
		out, err := c.output(0, index.DType, shape...)
		if err != nil {
			return err
		}
		for i := range n {
			row := 0
			if len(seed.Shape) == 2 {
				row = 3 * i
			}
			k := [3]uint32{uint32(bits64(seed, row)), uint32(bits64(seed, row+1)), uint32(bits64(seed, row+2))}
			v, err := shuffled(c, bits64(index, min(i, index.Len()-1)), k, bits64(most, min(i, most.Len()-1)), rounds)
			if err != nil {
				return err
			}
			setWhole(out, i, v)
		}
		return nil
	}, nil
}

// maxRounds bounds the work for an index; TensorFlow has no bound.
const maxRounds = 1 << 10

// leastBlock is the smallest block of the cipher, in bits.
const leastBlock = 16

// shuffled returns the place of an index. An index beyond the largest may have none, and TensorFlow would search for it forever.
func shuffled(c call, index uint64, key [3]uint32, most uint64, rounds int) (uint64, error) {
	if most == 0 {
		return 0, nil
	}
	block := int(math.Ceil(math.Log2(float64(most))))
	s := newSimon(key, max(block+block%2, leastBlock)/2, rounds)
	start := index & (1<<(2*s.width) - 1)
	for i := 1; ; i++ {
		if index = s.encrypt(index); index <= most {
			return index, nil
		}
		if index == start { // it would repeat forever
			return 0, fmt.Errorf("an index is above max_index, %d, and has no place: expected 0 to max_index", most)
		}
		if i%uninterrupted == 0 {
			if err := c.ctx.Err(); err != nil {
				return 0, err
			}
		}
	}
}

// simon is a cipher on blocks of two words.
type simon struct {
	width int // of a word, in bits
	mask  uint64
	keys  []uint64 // keys of the rounds
}

func newSimon(key [3]uint32, width, rounds int) simon {
	s := simon{width: width, mask: 1<<width - 1}
	for _, k := range key {
		s.keys = append(s.keys, uint64(k)&s.mask)
	}
	z := uint64(0x7369f885192c0ef5) & s.mask
	for i := 3; i < rounds; i++ {
		last := s.keys[i-1]
		s.keys = append(s.keys, 0xfffffffc&s.mask^z&1^s.keys[i-3]^s.left(last, width-3)^s.left(last, width-4))
		z >>= 1
	}
	return s
}

// left rotates the bits of a word to the left.
func (s simon) left(x uint64, by int) uint64 { return (x<<by | x>>(s.width-by)) & s.mask }

func (s simon) mixed(x uint64) uint64 { return s.left(x, 1)&s.left(x, 8) ^ s.left(x, 2) }

func (s simon) encrypt(block uint64) uint64 {
	a, b := block>>s.width&s.mask, block&s.mask
	for i := 0; i < len(s.keys); i += 2 {
		a ^= s.mixed(b) ^ s.keys[i]
		b ^= s.mixed(a) ^ s.keys[i+1]
	}
	return a<<s.width | b
}

// bits64 returns an integer as 64 bits, sign-extended.
func bits64(t *tensor.Tensor, i int) uint64 {
	switch t.DType {
	case tensor.Int32:
		return uint64(tensor.Values[int32](t)[i])
	case tensor.Uint32:
		return uint64(tensor.Values[uint32](t)[i])
	case tensor.Int64:
		return uint64(tensor.Values[int64](t)[i])
	}
	return tensor.Values[uint64](t)[i]
}
