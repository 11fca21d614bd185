package collective

import "sync/atomic"

// chunkBytes is the most bytes in one message: few enough that a worker forwards
// the start of a block long before its end arrives. It is a multiple of every
// element's size.
const chunkBytes = 512 << 10

// stage is a run of bytes of a vector that one worker sends or receives.
type stage struct {
	lo, hi int
	first  int  // number of the stage's first chunk among the chunks of its list
	after  int  // for a sent stage: the received stage that it passes on, or -1
	add    bool // for a received stage: its bytes are added to the present ones
	divide bool // for a received stage: the sum is complete, and is divided for the mean
}

func (s stage) chunks() int { return (s.hi - s.lo + chunkBytes - 1) / chunkBytes }

// chunk returns the bounds of chunk i.
func (s stage) chunk(i int) (lo, hi int) {
	lo = s.lo + i*chunkBytes
	return lo, min(lo+chunkBytes, s.hi)
}

// pass moves one vector along the ring, or exchanges it among all workers.
type pass struct {
	vector
	arithmetic *arithmetic
	divisor    int // of the mean; 0: none
	exchange   bool
	sends      []stage
	receives   []stage
	tensors    []int // indices in the layout that make up the vector

	waiting  atomic.Int32 // tensors that are not ready yet
	received atomic.Int64 // chunks, of all receives
	sent     atomic.Bool
}

// number sets first of all stages.
func number(stages []stage) []stage {
	n := 0
	for i := range stages {
		stages[i].first = n
		n += stages[i].chunks()
	}
	return stages
}

// ring makes rank's stages of a ring all-reduce over blocks, where block i is the
// bytes [bounds[i], bounds[i+1]): reduce-scatter, which leaves the sum of block
// rank+1 here, then all-gather. Each stage passes on what the previous one
// received. (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for
// clusters of workstations, 2009.)
func (p *pass) ring(bounds []int, rank int) {
	n := len(bounds) - 1
	p.sends, p.receives = p.sends[:0], p.receives[:0]
	for s := range 2 * (n - 1) {
		out, in := modulo(rank-s, n), modulo(rank-s-1, n)
		p.sends = append(p.sends, stage{lo: bounds[out], hi: bounds[out+1], after: s - 1})
		p.receives = append(p.receives, stage{lo: bounds[in], hi: bounds[in+1], add: s < n-1, divide: s == n-2})
	}
	number(p.sends)
	number(p.receives)
}

// gather makes rank's stages of a ring all-gather over blocks; each rank owns
// one.
func (p *pass) gather(bounds []int, rank int) {
	n := len(bounds) - 1
	p.sends, p.receives = p.sends[:0], p.receives[:0]
	for s := range n - 1 {
		out, in := modulo(rank-s, n), modulo(rank-s-1, n)
		p.sends = append(p.sends, stage{lo: bounds[out], hi: bounds[out+1], after: s - 1})
		p.receives = append(p.receives, stage{lo: bounds[in], hi: bounds[in+1]})
	}
	number(p.sends)
	number(p.receives)
}

// broadcast makes rank's stages of a broadcast from root along the ring of n.
func (p *pass) broadcast(root, rank, n int) {
	p.sends, p.receives = p.sends[:0], p.receives[:0]
	all := stage{hi: p.len()}
	if rank != root {
		p.receives = append(p.receives, all)
	}
	if modulo(rank+1, n) != root {
		all.after = len(p.receives) - 1
		p.sends = append(p.sends, all)
	}
}

func modulo(a, n int) int { return ((a % n) + n) % n }

// reset prepares the pass for the next call.
func (p *pass) reset(waiting int) {
	p.waiting.Store(int32(waiting))
	p.received.Store(0)
	p.sent.Store(false)
}

// evenly splits n elements of size bytes into parts as equal as possible and
// appends the bounds, in bytes.
func evenly(dst []int, n, size, parts int) []int {
	for i := range parts + 1 {
		dst = append(dst, n/parts*i*size+min(i, n%parts)*size)
	}
	return dst
}
