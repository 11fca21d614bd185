package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernels.transformArgs.
const (
	offTo      = 0
	offFrom    = 8
	offCount   = 16
	offCols    = 24
	offToStep  = 32
	offToRow   = 40
	offToCol   = 48
	offFromSt  = 56
	offFromRow = 64
	offFromCol = 72
	offBiases  = 80
	offAdd     = 88
	offClip    = 96
	offRows    = 104
	offWidth   = 112
	offScales  = 120
	offHalf    = 128 // vectors of a tile after one dimension
)

// winograd writes the transforms of kernels/winograd.go. Each is a linear map of one dimension, applied to the columns and then to
// the rows of a tile, for all channels of a vector at once. The maps are for the points 0, +-a, +-b and infinity, with
// a = sqrt(1/2) and b = sqrt(2). Opposite points share their even and odd parts.
func (m *machine) winograd() {
	a, b := math.Sqrt(0.5), math.Sqrt(2)
	m.transform("winogradInput", 6, 6, []float64{a, b, 0.5, 2, 2.5}, func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		m.zeroAndInfinity(v, c[4], put)
		m.pair(v[1:5], c[3], c[0], put, 1)
		m.pair(v[1:5], c[2], c[1], put, 3)
	})
	m.transform("winogradOutput", 6, 4, []float64{a, b, 0.5, 2, a * 0.5, b * 2}, func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		sumA, difA := m.sumAndDifference(v[1], v[2])
		sumB, difB := m.sumAndDifference(v[3], v[4])
		m.add(sumA, v[0], v[0])
		m.add(sumB, v[0], v[0])
		put(0, v[0])
		put(1, m.weighted(difA, c[0], difB, c[1]))
		put(2, m.weighted(sumA, c[2], sumB, c[3]))
		m.fma231(difA, c[4], v[5])
		m.fma231(difB, c[5], v[5])
		put(3, v[5])
	})
	m.transform("winogradGrad", 4, 6, []float64{a, b, 0.5, 2}, func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, v[0])
		for i := range 2 {
			even, odd := m.copied(v[0]), m.copied(v[1])
			m.fma231(v[2], c[2+i], even)
			m.fma231(v[3], c[2+i], odd)
			m.evenAndOdd(even, odd, c[i], put, 1+2*i)
		}
		put(5, v[3])
	})
	m.transform("winogradFilter", 3, 6, []float64{a, b, 0.5, 2, -1 / 1.5, 1.0 / 6}, func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, v[0])
		for i := range 2 {
			even, odd := m.copied(v[0]), m.vec()
			m.fma231(v[2], c[2+i], even)
			m.mul(c[4+i], even, even)
			m.mul(c[4+i], v[1], odd)
			m.evenAndOdd(even, odd, c[i], put, 1+2*i)
		}
		put(5, v[2])
	})
	m.transform("winogradFilterGrad", 6, 3, []float64{a, b, 0.5, 2, -1 / 1.5, 1.0 / 6}, func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		for i := range 2 {
			x, y := v[1+2*i], v[2+2*i]
			m.mul(c[4+i], x, x)
			m.mul(c[4+i], y, y)
		}
		sumA, difA := m.sumAndDifference(v[1], v[2])
		sumB, difB := m.sumAndDifference(v[3], v[4])
		m.add(sumA, v[0], v[0])
		m.add(sumB, v[0], v[0])
		put(0, v[0])
		put(1, m.weighted(difA, c[0], difB, c[1]))
		m.fma231(sumA, c[2], v[5])
		m.fma231(sumB, c[3], v[5])
		put(2, v[5])
	})
}

func (m *machine) copied(v reg.VecVirtual) reg.VecVirtual {
	c := m.vec()
	m.mov(v, c)
	return c
}

// zeroAndInfinity puts the rows of the points 0 and infinity.
func (m *machine) zeroAndInfinity(v []reg.VecVirtual, both reg.VecVirtual, put func(int, reg.VecVirtual)) {
	m.add(v[4], v[0], v[0])
	m.fnma231(both, v[2], v[0])
	put(0, v[0])
	m.add(v[1], v[5], v[5])
	m.fnma231(both, v[3], v[5])
	put(5, v[5])
}

// pair puts the rows of two opposite points. v are elements 1 to 4; square is the square of the other pair's points.
func (m *machine) pair(v []reg.VecVirtual, square, point reg.VecVirtual, put func(int, reg.VecVirtual), at int) {
	even, odd := m.copied(v[3]), m.copied(v[2])
	m.fnma231(square, v[1], even)
	m.fnma231(square, v[0], odd)
	m.evenAndOdd(even, odd, point, put, at)
}

// evenAndOdd puts even + point*odd and even - point*odd.
func (m *machine) evenAndOdd(even, odd, point reg.VecVirtual, put func(int, reg.VecVirtual), at int) {
	plus := m.copied(even)
	m.fma231(odd, point, plus)
	put(at, plus)
	m.fnma231(odd, point, even)
	put(at+1, even)
}

// sumAndDifference returns x + y, and x - y in x.
func (m *machine) sumAndDifference(x, y reg.VecVirtual) (sum, difference reg.VecVirtual) {
	sum = m.vec()
	m.add(x, y, sum)
	m.sub(y, x, x)
	return sum, x
}

// weighted returns x*p + y*q.
func (m *machine) weighted(x, p, y, q reg.VecVirtual) reg.VecVirtual {
	v := m.vec()
	m.mul(x, p, v)
	m.fma231(y, q, v)
	return v
}

// transform writes the kernel that maps tiles of n x n vectors to out x out vectors, for count tiles in a row. Forward results
// (out is 4) also get their epilogue, and only pixels inside the image are stored.
func (m *machine) transform(name string, n, out int, constants []float64, f func(v, c []reg.VecVirtual, put func(int, reg.VecVirtual))) {
	m.text(name, "func(t *byte)", "is a transform of Winograd's convolution.")
	t := Load(Param("t"), GP64()).(reg.GPVirtual)
	field := func(offset int) Mem { return Mem{Base: t, Disp: offset} }
	get := func(offset int) reg.GPVirtual {
		r := GP64()
		MOVQ(field(offset), r)
		return r
	}
	var c []reg.VecVirtual
	for _, v := range constants {
		c = append(c, m.value(v))
	}
	p, cols := []reg.GPVirtual{get(offTo), get(offFrom)}, get(offCols)
	var end2 *tileEnd
	if out == 4 {
		end2 = &tileEnd{machine: m, field: field, bias: get(offBiases), add: get(offAdd)}
		SUBQ(p[0], end2.add) // its offset from the result
		p = append(p, end2.bias)
	}
	m.stripsOf(1, cols, p, func(_ int, k *mask) {
		to, from := GP64(), GP64()
		MOVQ(p[0], to)
		MOVQ(p[1], from)
		left := get(offCount)
		if end2 != nil {
			left = get(offWidth)
		}
		l := newLabels("tile", "done")
		Label(l[0])
		column, row := GP64(), get(offFromRow)
		MOVQ(from, column)
		for j := range n {
			_, at := rowAddresses(n, column, row)
			f(m.loadAll(at, k), c, func(i int, v reg.VecVirtual) { m.mov(v, field(offHalf+(i*n+j)*m.width)) })
			if j < n-1 {
				ADDQ(field(offFromCol), column)
			}
		}
		line, step := GP64(), get(offToCol)
		MOVQ(to, line)
		for i := range out {
			_, at := rowAddresses(out, line, step)
			var rows []Mem
			for j := range n {
				rows = append(rows, field(offHalf+(i*n+j)*m.width))
			}
			put := func(j int, v reg.VecVirtual) { m.store(v, at[j], k) }
			if end2 != nil {
				end2.k, end2.left, end2.next = k, left, newLabels("row")[0]
				put = func(j int, v reg.VecVirtual) { end2.put(j, v, at[j]) }
			}
			f(m.loadAll(rows, nil), c, put)
			if end2 != nil {
				Label(end2.next)
				CMPQ(field(offRows), Imm(uint64(i+1)))
				JLE(LabelRef(l[1]))
			}
			if i < out-1 {
				ADDQ(field(offToRow), line)
			}
		}
		Label(l[1])
		ADDQ(field(offToStep), to)
		ADDQ(field(offFromSt), from)
		if end2 != nil {
			SUBQ(Imm(4), left)
			JG(LabelRef(l[0]))
			return
		}
		DECQ(left)
		JNZ(LabelRef(l[0]))
	})
	end()
}

// tileEnd stores the pixels of a row of a forward result.
type tileEnd struct {
	*machine
	field     func(offset int) Mem
	bias, add reg.GPVirtual
	k         *mask
	left      reg.GPVirtual // pixels from this tile on
	next      string        // label at which the row is done
}

// put stores pixel j, unless the image ends before it.
func (e *tileEnd) put(j int, v reg.VecVirtual, at Mem) {
	if j > 0 {
		CMPQ(e.left, Imm(uint64(j)))
		JLE(LabelRef(e.next))
	}
	l := newLabels("biased", "added", "clipped", "scaled")
	CMPQ(e.field(offScales), Imm(0))
	JE(LabelRef(l[3]))
	at2, factor := GP64(), e.vec()
	MOVQ(e.bias, at2) // already advanced to the channel
	SUBQ(e.field(offBiases), at2)
	ADDQ(e.field(offScales), at2)
	e.load(Mem{Base: at2}, factor, e.k)
	e.mul(factor, v, v)
	Label(l[3])
	CMPQ(e.field(offBiases), Imm(0))
	JE(LabelRef(l[0]))
	x := e.vec()
	e.load(Mem{Base: e.bias}, x, e.k)
	e.machine.add(x, v, v)
	Label(l[0])
	CMPQ(e.field(offAdd), Imm(0))
	JE(LabelRef(l[1]))
	from, y := GP64(), e.vec()
	LEAQ(at, from)
	e.load(Mem{Base: from, Index: e.add, Scale: 1}, y, e.k)
	e.machine.add(y, v, v)
	Label(l[1])
	CMPQ(e.field(offClip), Imm(0))
	JE(LabelRef(l[2]))
	e.max(v, e.value(0), v) // returns the second source if it is NaN
	Label(l[2])
	e.store(v, at, e.k)
}
