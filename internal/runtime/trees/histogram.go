package trees

import (
	"encoding/binary"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// span is one node's part of the partitioned rows.
type span struct{ from, to int }

// chunk is a unit of work: at most packedRows positions of a node.
type chunk struct{ node, from, to int }

// packed is a slot's histogram of packed pairs.
type packed [maxBins]int64

// histograms sums gradients by node, output and bin.
type histograms struct {
	data  *Binned
	rows  []int32    // by position
	grads *gradients // by position
	nodes []span
	// done is called with the sums of one node, the only one in s. The memory of s is reused. Calls come from several
	// goroutines.
	done func(node int, s *Sums)

	work    []chunk
	partial []partial
	free    sync.Pool // of *scratch
}

// partial is a node that is summed in several chunks.
type partial struct {
	mu     sync.Mutex
	open   int    // chunks not yet done
	sums   []pair // [dim, space.Bins]
	totals []pair // [dim]
}

// scratch is a goroutine's memory.
type scratch struct {
	q    []int64
	bins []packed // one for each slot; zero between uses
	sums Sums
}

// build sums the positions of every node. As sums of whole numbers, the results are the same for every number of threads.
func (h *histograms) build() {
	h.work = cut(h.work[:0], h.nodes, packedRows)
	for len(h.partial) < len(h.nodes) {
		h.partial = append(h.partial, partial{})
	}
	for n := range h.nodes {
		h.partial[n].open = 0
	}
	for _, c := range h.work {
		h.partial[c.node].open++
	}
	kernels.Parallel(len(h.work), 1, h)
}

// cut cuts nodes into chunks that give every thread something to do.
func cut(work []chunk, nodes []span, largest int) []chunk {
	positions := 0
	for _, s := range nodes {
		positions += s.to - s.from
	}
	size := min(max(positions/(2*kernels.Threads())+1, 1<<10), largest)
	for n, s := range nodes {
		parts := max((s.to-s.from+size-1)/size, 1)
		for i := range parts {
			work = append(work, chunk{n, s.from + (s.to-s.from)*i/parts, s.from + (s.to-s.from)*(i+1)/parts})
		}
	}
	return work
}

// Run does the chunks of work lo to hi.
func (h *histograms) Run(lo, hi int) {
	s, _ := h.free.Get().(*scratch)
	if s == nil {
		s = &scratch{q: make([]int64, packedRows)}
	}
	defer h.free.Put(s)
	if len(s.bins) < h.data.stride+addSlots {
		s.bins = make([]packed, h.data.stride+addSlots)
	}
	s.sums.resize(1, h.grads.dim, h.data.space.Bins)
	for _, c := range h.work[lo:hi] {
		if (span{c.from, c.to}) == h.nodes[c.node] {
			h.whole(c, s)
		} else {
			h.part(c, s, &h.partial[c.node])
		}
	}
}

// whole sums a node that is a single chunk.
func (h *histograms) whole(c chunk, s *scratch) {
	rows, q := h.rows[c.from:c.to], s.q[:c.to-c.from]
	for k := range h.grads.dim {
		all := h.grads.pack(q, k, c.from)
		h.data.add(s.bins, rows, q)
		v := s.sums.output(0, k)
		g, w := h.grads.units[2*k], h.grads.units[2*k+1]
		h.data.drain(s.bins, func(at int, bins []int64, first bool) {
			into := v[at*2:]
			if !first {
				for i, b := range bins {
					into[2*i] += float64(b>>32) * g
					into[2*i+1] += float64(b&(1<<32-1)) * w
				}
				return
			}
			for i, b := range bins {
				into[2*i], into[2*i+1] = float64(b>>32)*g, float64(b&(1<<32-1))*w
			}
		})
		v[len(v)-2], v[len(v)-1] = float64(all.G)*g, float64(all.H)*w
	}
	h.done(c.node, &s.sums)
}

// part sums one of several chunks of a node, and finishes the node after the last one.
func (h *histograms) part(c chunk, s *scratch, p *partial) {
	rows, q := h.rows[c.from:c.to], s.q[:c.to-c.from]
	dim, bins := h.grads.dim, h.data.space.Bins
	p.mu.Lock()
	if len(p.sums) != dim*bins {
		p.sums, p.totals = make([]pair, dim*bins), make([]pair, dim)
	}
	p.mu.Unlock()
	for k := range dim {
		all := h.grads.pack(q, k, c.from)
		h.data.add(s.bins, rows, q)
		p.mu.Lock()
		p.totals[k].G += all.G
		p.totals[k].H += all.H
		h.data.drain(s.bins, func(at int, from []int64, _ bool) {
			into := p.sums[k*bins+at:]
			for i, b := range from {
				into[i].G += b >> 32
				into[i].H += b & (1<<32 - 1)
			}
		})
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open--; p.open > 0 {
		return
	}
	for k := range dim {
		v := s.sums.output(0, k)
		g, w := h.grads.units[2*k], h.grads.units[2*k+1]
		for i, b := range p.sums[k*bins : (k+1)*bins] {
			v[2*i], v[2*i+1] = float64(b.G)*g, float64(b.H)*w
		}
		v[2*bins], v[2*bins+1] = float64(p.totals[k].G)*g, float64(p.totals[k].H)*w
	}
	clear(p.sums)
	clear(p.totals)
	h.done(c.node, &s.sums)
}

// drain calls into with every slot's histogram and the first bin of its group, then zeroes the histogram. first marks the
// first slot of a group.
func (b *Binned) drain(bins []packed, into func(at int, from []int64, first bool)) {
	for slot, g := range b.slots {
		group := &b.space.Groups[g]
		from := bins[slot][:group.Bins]
		into(group.Offset, from, b.first[g] == slot)
		clear(from)
	}
	for slot := len(b.slots); slot < b.stride; slot++ {
		bins[slot][0] = 0
	}
}

// addSlots is the number of slots summed in one pass over the rows: their histograms stay in the L1 cache.
const addSlots = 16

// add adds q[i] to the bins of rows[i], in the histogram of every slot.
func (b *Binned) add(hist []packed, rows []int32, q []int64) {
	for at := 0; at < b.stride; at += addSlots {
		n := min(b.stride-at, addSlots)
		if n < 8 {
			addTail((*[8]packed)(hist[at:]), b.bins[at:], rows, q, addShape{b.stride, n})
		} else {
			addWide((*[16]packed)(hist[at:]), b.bins[at:], rows, q, addShape{b.stride, n - 8})
		}
	}
}

// addShape has the distance between rows and the number of slots, an even one, after a full word of slots.
type addShape struct{ stride, tail int }

// addWide sums eight slots and up to eight more.
func addWide(hist *[16]packed, bins []uint8, rows []int32, q []int64, s addShape) {
	q = q[:len(rows)]
	for i, r := range rows {
		row := bins[int(r)*s.stride:]
		w, x, v := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:]), q[i]
		hist[0][uint8(w)] += v
		hist[1][uint8(w>>8)] += v
		hist[2][uint8(w>>16)] += v
		hist[3][uint8(w>>24)] += v
		hist[4][uint8(w>>32)] += v
		hist[5][uint8(w>>40)] += v
		hist[6][uint8(w>>48)] += v
		hist[7][uint8(w>>56)] += v
		switch s.tail {
		case 8:
			hist[14][uint8(x>>48)] += v
			hist[15][uint8(x>>56)] += v
			fallthrough
		case 6:
			hist[12][uint8(x>>32)] += v
			hist[13][uint8(x>>40)] += v
			fallthrough
		case 4:
			hist[10][uint8(x>>16)] += v
			hist[11][uint8(x>>24)] += v
			fallthrough
		case 2:
			hist[8][uint8(x)] += v
			hist[9][uint8(x>>8)] += v
		}
	}
}

// addTail sums up to six slots.
func addTail(hist *[8]packed, bins []uint8, rows []int32, q []int64, s addShape) {
	q = q[:len(rows)]
	for i, r := range rows {
		w, v := binary.LittleEndian.Uint64(bins[int(r)*s.stride:]), q[i]
		switch s.tail {
		case 6:
			hist[4][uint8(w>>32)] += v
			hist[5][uint8(w>>40)] += v
			fallthrough
		case 4:
			hist[2][uint8(w>>16)] += v
			hist[3][uint8(w>>24)] += v
			fallthrough
		default:
			hist[0][uint8(w)] += v
			hist[1][uint8(w>>8)] += v
		}
	}
}
