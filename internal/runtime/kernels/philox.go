package kernels

import "math/bits"

// philox is the counter-based generator Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (2011), in TensorFlow's layout of key and counter.
type philox struct {
	key     [2]uint32
	counter [4]uint32
}

const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

func newPhilox(key uint64, counter [2]uint64) philox {
	return philox{
		key:     [2]uint32{uint32(key), uint32(key >> 32)},
		counter: [4]uint32{uint32(counter[0]), uint32(counter[0] >> 32), uint32(counter[1]), uint32(counter[1] >> 32)},
	}
}

// skip advances the 128-bit counter by n.
func (p *philox) skip(n uint64) {
	lo := uint64(p.counter[0]) | uint64(p.counter[1])<<32
	hi := uint64(p.counter[2]) | uint64(p.counter[3])<<32
	lo, carry := bits.Add64(lo, n, 0)
	hi += carry
	p.counter = [4]uint32{uint32(lo), uint32(lo >> 32), uint32(hi), uint32(hi >> 32)}
}

// next returns the four words of the current counter and advances it by one.
func (p *philox) next() [4]uint32 {
	c0, c1, c2, c3 := p.counter[0], p.counter[1], p.counter[2], p.counter[3]
	k0, k1 := p.key[0], p.key[1]
	for range 10 {
		x, y := philoxM0*uint64(c0), philoxM1*uint64(c2)
		c0, c1, c2, c3 = uint32(y>>32)^c1^k0, uint32(y), uint32(x>>32)^c3^k1, uint32(x)
		k0 += philoxW0
		k1 += philoxW1
	}
	p.skip(1)
	return [4]uint32{c0, c1, c2, c3}
}

// philoxRun are the arguments of the vector kernels: the first counter, the distance between counters (below 2^32) and the
// keys of the ten rounds. The counters' high half does not change.
type philoxRun struct {
	counter, high uint64
	step          uint64
	keys          [20]uint32
}

// run describes n counters from p's on, and reports whether they all have the same high half.
func (p *philox) run(n int, step uint64) (r philoxRun, ok bool) {
	r.counter = uint64(p.counter[0]) | uint64(p.counter[1])<<32
	r.high = uint64(p.counter[2]) | uint64(p.counter[3])<<32
	r.step = step
	k0, k1 := p.key[0], p.key[1]
	for i := 0; i < len(r.keys); i += 2 {
		r.keys[i], r.keys[i+1] = k0, k1
		k0 += philoxW0
		k1 += philoxW1
	}
	_, carry := bits.Add64(r.counter, uint64(n)*step, 0)
	return r, carry == 0
}
