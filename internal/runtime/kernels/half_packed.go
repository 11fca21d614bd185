package kernels

import (
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// halfStrips are the strips of a PackedB with 16-bit elements: pairs of bfloat16 in the place of float32s if the CPU can multiply
// pairs, else rows.
type halfStrips struct {
	half  Half
	pairs bool
	rows  []uint16 // strips with the layout of float32; nil for pairs
}

// HalfMatrix is a right operand of 16-bit numbers.
type HalfMatrix struct {
	Half  Half
	Bits  []uint16 // [k, n], or [n, k] when Trans, rows LD elements apart
	LD    int
	Trans bool
	// Exact says that left operands are exact in this type, too. Then bfloat16 numbers are multiplied in pairs if the CPU has
	// AVX512_BF16, which treats subnormal numbers as 0.
	Exact bool
}

// PackHalves is PackB for 16-bit numbers, which stay 16-bit.
func PackHalves(m HalfMatrix, k, n int) *PackedB[float32] {
	if m.Trans {
		checkMatrix(m.Bits, n, k, m.LD)
	} else {
		checkMatrix(m.Bits, k, n, m.LD)
	}
	pairs := m.Exact && m.Half == Brain && pairProducts(ActiveLevel())
	p := &PackedB[float32]{k: k, n: n, trans: m.Trans, halves: &halfStrips{half: m.Half, pairs: pairs}}
	if pairs {
		p.tiles = &setPairs
		p.data = aligned[float32](p.depth() * ceilDiv(n, p.tiles.lanes) * p.tiles.lanes)
	} else {
		p.tiles = rowTiles(m.Half, ActiveLevel())
		words := aligned[float32](ceilDiv(k*ceilDiv(n, p.tiles.lanes)*p.tiles.lanes, 2))
		p.halves.rows = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
	}
	p.eachHalf(func(i, j int, at *uint16) {
		if m.Trans {
			*at = m.Bits[j*m.LD+i]
		} else {
			*at = m.Bits[i*m.LD+j]
		}
	})
	return p
}

// UnpackHalves is Unpack for an operand of PackHalves.
func (p *PackedB[T]) UnpackHalves(b []uint16) {
	p.eachHalf(func(i, j int, at *uint16) {
		if p.trans {
			b[j*p.k+i] = *at
		} else {
			b[i*p.n+j] = *at
		}
	})
}

// eachHalf calls f for each element i, j of op(B), with its place.
func (p *PackedB[T]) eachHalf(f func(i, j int, at *uint16)) {
	words, per := p.halves.rows, 1
	if p.halves.pairs {
		words, per = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(p.data))), 2*len(p.data)), 2
	}
	for n := 0; n < p.n && p.k > 0; n += p.stripWidth() {
		ld, cols := p.stripSize(n)
		strip := words[n*p.depth()*per:]
		for i := range p.k {
			row := strip[i/per*ld*per+i%per:]
			for j := range cols {
				f(i, n+j, &row[j*per])
			}
		}
	}
}

// Narrow reports whether the operand was made by PackHalves.
func (p *PackedB[T]) Narrow() bool { return p.halves != nil }

// depth returns the number of rows of a strip.
func (p *PackedB[T]) depth() int {
	if p.halves != nil && p.halves.pairs {
		return ceilDiv(p.k, 2)
	}
	return p.k
}

// inRows reports whether strips are rows of 16-bit numbers.
func (p *PackedB[T]) inRows() bool { return p.halves != nil && !p.halves.pairs }

// halfRows returns rows [k0, k1) of the strip of 16-bit numbers that starts at column n, and the distance between rows.
func (p *PackedB[T]) halfRows(n, k0, k1 int) (rows []uint16, ld int) {
	ld, _ = p.stripSize(n)
	return p.halves.rows[n*p.k:][k0*ld : k1*ld], ld
}

// widenFrom is the number of panels of a task from which a strip of 16-bit numbers is converted to float32 once for all of them.
// Kernels that read 16-bit numbers convert them for each panel.
const widenFrom = 6

// widens reports whether tasks convert strips of 16-bit numbers to float32.
func (j *gemmJob[T]) widens() bool {
	return j.packed != nil && j.packed.inRows() && !j.streams() && (j.tiles.halves == nil || j.panels >= widenFrom*j.mTasks)
}

// widenStrip converts rows of the strip that starts at column n to float32 in a buffer, and points the tile at them.
func (j *gemmPart[T]) widenStrip(t *tileArgs, buf []T, n int) {
	rows, ld := j.packed.halfRows(n, j.k0, j.k1)
	wide := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(buf))), len(rows)) // T is float32: see PackHalves
	Widen(j.packed.halves.half, wide, rows)
	t.b, t.bK = unsafe.Pointer(&buf[0]), ld*int(unsafe.Sizeof(j.Alpha))
}

// pairElements bounds the pairs of A that are made at once.
const pairElements = 1 << 20

// multiplyPairs multiplies by a B of pairs. It first converts A to pairs, some rows at a time.
func (g *PackedArgs[T]) multiplyPairs(parallel bool) {
	depth := g.B.depth()
	ld := ceilDiv(depth, convertBlock) * convertBlock
	if crowded[float32](g.B.tiles.rows, ld) {
		ld += convertBlock
	}
	each := min(g.M, max(pairElements/max(ld, 1), 28))
	p := pairsRuns.get()
	p.room = p.take(each * ld)
	p.k, p.lda, p.ld = g.B.k, g.LDA, ld
	for m := 0; m < g.M; m += each {
		rows := min(each, g.M-m)
		p.a = unsafe.Slice((*float32)(unsafe.Pointer(&g.A[m*g.LDA])), len(g.A)-m*g.LDA)
		if parallel && rows > 2 {
			Parallel(rows, max(1, copyCall/max(ld, 1)), p)
		} else {
			p.Run(0, rows)
		}
		part := *g
		part.M, part.C = rows, g.C[m*g.LDC:]
		if g.Add != nil {
			part.Add = g.Add[m*g.LDC:]
		}
		part.product(GemmArgs[T]{M: rows, N: g.B.n, K: depth, Alpha: 1, A: unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p.room))), len(p.room)), LDA: ld}, parallel)
	}
	p.a = nil
	pairsRuns.put(p)
}

// pairsRun converts rows of A to pairs: the upper halves of its float32s, one after the other.
type pairsRun struct {
	scratch[float32]
	room, a    []float32
	k, lda, ld int
}

var pairsRuns freelist[pairsRun]

// Run implements Task.
func (p *pairsRun) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		row := p.a[i*p.lda:][:p.k]
		to := unsafe.Slice((*uint16)(unsafe.Pointer(&p.room[i*p.ld])), 2*p.ld)
		at := 0
		for ; at+convertBlock <= p.k; at += copyCall {
			n := min(copyCall, p.k-at) / convertBlock * convertBlock
			simdPairs(to[at:], row[at:at+n])
		}
		for k := p.k / convertBlock * convertBlock; k < p.k; k++ {
			to[k] = tensor.BFloat16Bits(row[k])
		}
		if p.k%2 == 1 {
			to[p.k] = 0
		}
	}
}
