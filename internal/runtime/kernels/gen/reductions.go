package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reductions writes the sum, dot product and maximum of a vector. Results are returned as bits.
func (m *machine) reductions() {
	n, p := m.function("sum", "sums n elements.", []string{"n"}, []string{"a"}, "return")
	m.accumulate(n[0], p, func(acc reg.VecVirtual, disp int, k *mask) {
		v := m.vec()
		m.load(Mem{Base: p[0], Disp: disp}, v, k)
		m.add(v, acc, acc)
	})
	n, p = m.function("dot", "sums n products.", []string{"n"}, []string{"a", "b"}, "return")
	q := p
	m.accumulate(n[0], q, func(acc reg.VecVirtual, disp int, k *mask) {
		a, b := m.vec(), m.vec()
		m.load(Mem{Base: q[0], Disp: disp}, a, k)
		m.load(Mem{Base: q[1], Disp: disp}, b, k)
		m.fma231(a, b, acc)
	})
	m.extremes()
}

// accumulate runs body over n elements with four sums in turn, and returns their total.
func (m *machine) accumulate(n reg.GPVirtual, p []reg.GPVirtual, body func(reg.VecVirtual, int, *mask)) {
	acc := make([]reg.VecVirtual, unroll)
	for i := range acc {
		acc[i] = m.vec()
		m.zero(acc[i])
	}
	m.each(n, p, unroll, func(disp int, k *mask) { body(acc[disp/m.width], disp, k) })
	m.add(acc[1], acc[0], acc[0])
	m.add(acc[3], acc[2], acc[2])
	m.add(acc[2], acc[0], acc[0])
	m.result(m.fold(acc[0], m.add))
	end()
}

// fold combines the lanes of v into lane 0 of the result.
func (m *machine) fold(v reg.VecVirtual, op func(...Op)) reg.VecVirtual {
	y := v
	if m.wide() {
		y = YMM()
		VEXTRACTF64X4(Imm(1), v, y)
		op(v.AsY(), y, y)
	}
	x := XMM()
	VEXTRACTF128(Imm(1), y, x)
	op(y.AsX(), x, x)
	for half := m.lanes() * 16 / m.width / 2; half >= 1; half /= 2 {
		t := XMM()
		if half*m.bytes == 8 {
			VPERMILPD(Imm(1), x, t)
		} else {
			VPERMILPS(Imm(1), x, t)
		}
		op(t, x, x)
	}
	return x
}

// result returns the bits of lane 0.
func (m *machine) result(v reg.VecVirtual) {
	bits := GP64()
	if m.bytes == 4 {
		VMOVD(v, bits.As32())
	} else {
		VMOVQ(v, bits)
	}
	Store(bits, ReturnIndex(0))
}

// extremes gives NaN if there is one. NaN is collected separately, since VMAX and VMIN lose it.
func (m *machine) extremes() {
	m.extreme("maxOf", "largest", math.Inf(-1), m.max)
	m.extreme("minOf", "smallest", math.Inf(1), m.min)
}

func (m *machine) extreme(name, what string, none float64, better func(...Op)) {
	n, p := m.function(name, "finds the "+what+" of n elements, or NaN.", []string{"n"}, []string{"a"}, "return")
	bottom := m.value(none)
	acc := []reg.VecVirtual{m.value(none), m.value(none)}
	odd := m.vec()
	m.zero(odd)
	m.each(n[0], p, 2, func(disp int, k *mask) {
		v := m.vec()
		m.load(Mem{Base: p[0], Disp: disp}, v, k)
		if k != nil {
			v = where{m, k.k}.pick(v, bottom)
		}
		bad := m.compare(unordered, v, v).keep(v)
		m.or(bad, odd, odd)
		better(v, acc[disp/m.width], acc[disp/m.width])
	})
	better(acc[1], acc[0], acc[0])
	// x - x is 0 for finite numbers and NaN for the collected ones, so adding it does not change a finite extreme.
	flags := m.compare(unordered, odd, odd).keep(odd)
	top, nan := m.fold(acc[0], better), m.fold(flags, m.or)
	if m.bytes == 4 {
		VADDSS(nan, top, top)
	} else {
		VADDSD(nan, top, top)
	}
	m.result(top)
	end()
}

// columns writes kernels that add the rows of x [rows, cols] to acc [cols]: unchanged, as squared distances from the mean, or
// times another matrix. They go through the rows in order, for one strip of columns after the other.
func (m *machine) columns() {
	m.columnKernel("colSum", []string{"acc", "x"}, func(v []reg.VecVirtual, acc, _ reg.VecVirtual) { m.add(v[0], acc, acc) })
	m.columnKernel("colCentered", []string{"acc", "x", "mean"}, func(v []reg.VecVirtual, acc, mean reg.VecVirtual) {
		m.sub(mean, v[0], v[0])
		m.fma231(v[0], v[0], acc)
	})
	m.columnKernel("colDot", []string{"acc", "dy", "x", "mean"}, func(v []reg.VecVirtual, acc, mean reg.VecVirtual) {
		m.sub(mean, v[1], v[1])
		m.fma231(v[0], v[1], acc)
	})
}

func (m *machine) columnKernel(name string, pointers []string, body func(v []reg.VecVirtual, acc, mean reg.VecVirtual)) {
	n, p := m.function(name, "adds rows to acc; rows > 0.", []string{"rows", "cols"}, pointers)
	matrices, vectors := p[1:], []reg.GPVirtual{p[0]}
	if len(p) > 2 {
		matrices, vectors = p[1:len(p)-1], append(vectors, p[len(p)-1])
	}
	stride := GP64()
	MOVQ(n[1], stride)
	SHLQ(Imm(uint64(1+m.bytes/4)), stride)
	strip := func(width int, k *mask) {
		held := make([][]reg.VecVirtual, len(vectors))
		for i, q := range vectors {
			for w := range width {
				held[i] = append(held[i], m.vec())
				m.load(Mem{Base: q, Disp: w * m.width}, held[i][w], k)
			}
		}
		rows, at := m.rowCursor(n[0], matrices)
		l := newLabels("row")
		Label(l[0])
		for w := range width {
			v := make([]reg.VecVirtual, len(matrices))
			for i := range v {
				v[i] = m.vec()
				m.load(Mem{Base: at[i], Disp: w * m.width}, v[i], k)
			}
			body(v, held[0][w], held[len(held)-1][w])
		}
		for _, a := range at {
			ADDQ(stride, a)
		}
		DECQ(rows)
		JNZ(LabelRef(l[0]))
		for w := range width {
			m.store(held[0][w], Mem{Base: vectors[0], Disp: w * m.width}, k)
		}
	}
	m.strips(n[1], p, strip)
	end()
}

// rowCursor copies the row count and the pointers for one walk down the rows.
func (m *machine) rowCursor(n reg.GPVirtual, p []reg.GPVirtual) (rows reg.GPVirtual, at []reg.GPVirtual) {
	rows = GP64()
	MOVQ(n, rows)
	for _, q := range p {
		a := GP64()
		MOVQ(q, a)
		at = append(at, a)
	}
	return rows, at
}

// strips goes through the columns: four vectors at a time, then single vectors, then the rest.
func (m *machine) strips(cols reg.GPVirtual, ptrs []reg.GPVirtual, strip func(width int, k *mask)) {
	m.stripsOf(4, cols, ptrs, strip)
}

// stripsOf is strips with most vectors at a time instead of four.
func (m *machine) stripsOf(most int, cols reg.GPVirtual, ptrs []reg.GPVirtual, strip func(width int, k *mask)) {
	l := newLabels("wide", "narrow", "edge", "end")
	for i, width := range []int{most, 1} {
		Label(l[i])
		CMPQ(cols, U32(width*m.lanes()))
		JLT(LabelRef(l[i+1]))
		strip(width, nil)
		for _, p := range ptrs {
			ADDQ(U32(width*m.width), p)
		}
		SUBQ(U32(width*m.lanes()), cols)
		JMP(LabelRef(l[i]))
	}
	Label(l[2])
	TESTQ(cols, cols)
	JZ(LabelRef(l[3]))
	k := m.lanesMask(cols)
	strip(1, &k)
	Label(l[3])
}

// rows writes dst = x + shift and dst = x*scale + shift, with or without clipping below zero, for every row of a matrix
// whose rows are strides apart.
func (m *machine) rows() {
	for _, kind := range []struct {
		name        string
		scale, relu bool
	}{{"biasRows", false, false}, {"biasReluRows", false, true}, {"scaleRows", true, false}, {"scaleReluRows", true, true}} {
		pointers := []string{"dst", "x", "shift"}
		if kind.scale {
			pointers = append(pointers, "scale")
		}
		n, p := m.function(kind.name, "maps rows; stride in bytes, rows > 0.", []string{"rows", "cols", "stride"}, pointers)
		m.strips(n[1], p, func(width int, k *mask) {
			var held [][]reg.VecVirtual
			for i, q := range p[2:] {
				held = append(held, nil)
				for w := range width {
					held[i] = append(held[i], m.vec())
					m.load(Mem{Base: q, Disp: w * m.width}, held[i][w], k)
				}
			}
			rows, at := m.rowCursor(n[0], p[:2])
			l := newLabels("row")
			Label(l[0])
			for w := range width {
				v := m.vec()
				m.load(Mem{Base: at[1], Disp: w * m.width}, v, k)
				if kind.scale {
					m.fma213(held[0][w], held[1][w], v)
				} else {
					m.add(held[0][w], v, v)
				}
				if kind.relu {
					zero := m.vec()
					m.zero(zero)
					m.max(v, zero, zero)
					v = zero
				}
				m.store(v, Mem{Base: at[0], Disp: w * m.width}, k)
			}
			ADDQ(n[2], at[0])
			ADDQ(n[2], at[1])
			DECQ(rows)
			JNZ(LabelRef(l[0]))
		})
		end()
	}
}

// normGrad writes dst = a*dy + b*x + c with one a, b and c for each column.
func (m *machine) normGrad() {
	n, p := m.function("normGradRows", "maps rows; rows > 0.", []string{"rows", "cols"}, []string{"dst", "dy", "x", "a", "b", "c"})
	stride := GP64()
	MOVQ(n[1], stride)
	SHLQ(Imm(uint64(1+m.bytes/4)), stride)
	m.strips(n[1], p, func(width int, k *mask) {
		var held [3][]reg.VecVirtual
		for i, q := range p[3:] {
			for w := range width {
				held[i] = append(held[i], m.vec())
				m.load(Mem{Base: q, Disp: w * m.width}, held[i][w], k)
			}
		}
		rows, at := m.rowCursor(n[0], p[:3])
		l := newLabels("row")
		Label(l[0])
		for w := range width {
			dy, x := m.vec(), m.vec()
			m.load(Mem{Base: at[1], Disp: w * m.width}, dy, k)
			m.load(Mem{Base: at[2], Disp: w * m.width}, x, k)
			m.fma213(held[2][w], held[1][w], x)
			m.fma213(x, held[0][w], dy)
			m.store(dy, Mem{Base: at[0], Disp: w * m.width}, k)
		}
		for _, a := range at {
			ADDQ(stride, a)
		}
		DECQ(rows)
		JNZ(LabelRef(l[0]))
	})
	end()
}
