package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strided writes the kernels of pooling and depthwise convolution: rows of cols channels, one row for each pixel, with a
// stride in bytes for each operand.
func (m *machine) strided() {
	m.maxWindow()
	m.routeWindow()
	m.walk("mulAddPixels", []string{"dst", "x"}, []string{"w"}, func(p []Mem, w []reg.VecVirtual, k *mask) {
		v := m.loadAll(p, k)
		m.fma231(w[0], v[1], v[0])
		m.store(v[0], p[0], k)
	})
	m.walk("dotPixels", []string{"x", "y"}, []string{"acc"}, func(p []Mem, acc []reg.VecVirtual, k *mask) {
		v := m.loadAll(p, k)
		m.fma231(v[0], v[1], acc[0])
	})
	m.routePixels("routePixels", false)
	m.routePixels("routeFirstPixels", true)
}

// routePixels writes the kernel for a tap of max pooling's gradient, for the first pixels of windows or for others.
func (m *machine) routePixels(name string, first bool) {
	m.walk(name, []string{"dx", "x", "left", "y"}, nil, func(p []Mem, _ []reg.VecVirtual, k *mask) {
		v := m.loadAll(p, k)
		taken := m.atTop(v[1], v[3], first).keep(v[2])
		m.add(taken, v[0], v[0])
		m.xor(taken, v[2], v[2]) // taken is either all of left or zero
		m.store(v[0], p[0], k)
		m.store(v[2], p[2], k)
	})
}

// maxWindow writes the kernel of max pooling: for a run of pixels of one output row, the largest of lines x taps input pixels,
// channel by channel, starting from the lowest finite number. NaN is ignored. There are not enough registers for the sizes, so
// the inner loops read them from memory.
func (m *machine) maxWindow() {
	m.text("maxWindow", "func(rows, cols, stride0, stride1, lines, lineStep, taps, tapStep int, dst, x *byte)",
		"is max pooling; rows, lines and taps > 0.")
	param := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	p, cols := []reg.GPVirtual{param("dst"), param("x")}, param("cols")
	m.stripsOf(2, cols, p, func(width int, k *mask) {
		rows, at := m.rowCursor(param("rows"), p)
		l := newLabels("pixel", "line", "tap")
		Label(l[0])
		top := make([]reg.VecVirtual, width)
		for w := range top {
			top[w] = m.vec()
			m.mov(m.lowest(), top[w])
		}
		line, lines := GP64(), param("lines")
		MOVQ(at[1], line)
		Label(l[1])
		tap, taps := GP64(), param("taps")
		MOVQ(line, tap)
		Label(l[2])
		for w, best := range top {
			v := m.vec()
			m.load(Mem{Base: tap, Disp: w * m.width}, v, k)
			m.max(best, v, best) // returns the second source, the best so far, if the new one is NaN
		}
		ADDQ(param("tapStep"), tap)
		DECQ(taps)
		JNZ(LabelRef(l[2]))
		ADDQ(param("lineStep"), line)
		DECQ(lines)
		JNZ(LabelRef(l[1]))
		for w, v := range top {
			m.store(v, Mem{Base: at[0], Disp: w * m.width}, k)
		}
		ADDQ(param("stride0"), at[0])
		ADDQ(param("stride1"), at[1])
		DECQ(rows)
		JNZ(LabelRef(l[0]))
	})
	end()
}

// lowest is the lowest finite number.
func (m *machine) lowest() Mem {
	if m.bytes == 4 {
		return m.constant(-math.MaxFloat32)
	}
	return m.constant(-math.MaxFloat64)
}

// atTop compares the pixel of a tap, which it may change, with the largest y of its window. If the window's first pixel is NaN,
// it counts as the largest.
func (m *machine) atTop(x, y reg.VecVirtual, first bool) where {
	low := m.vec()
	m.mov(m.lowest(), low)
	m.max(x, low, low) // returns the second source if it is NaN
	if first {
		return m.compare(equalOrUnordered, low, y)
	}
	return m.compare(equal, low, y)
}

// routeWindow writes the kernel of the gradient of max pooling with windows that do not overlap: the gradient of an output
// pixel goes to the first input pixel that equals it, channel by channel, and the others get zero.
func (m *machine) routeWindow() {
	m.text("routeWindow", "func(rows, cols, stride0, stride1, lines, lineStep, taps, tapStep int, dx, x, dy, y *byte)",
		"is the gradient of max pooling; rows, lines and taps > 0.")
	param := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	p, cols := []reg.GPVirtual{param("dx"), param("x"), param("dy"), param("y")}, param("cols")
	m.stripsOf(2, cols, p, func(width int, k *mask) {
		rows, out, in := param("rows"), GP64(), GP64()
		XORQ(out, out)
		XORQ(in, in)
		l := newLabels("pixel", "line", "tap", "next")
		Label(l[0])
		top, left := make([]reg.VecVirtual, width), make([]reg.VecVirtual, width)
		for w := range top {
			top[w], left[w] = m.vec(), m.vec()
			m.load(Mem{Base: p[3], Index: out, Scale: 1, Disp: w * m.width}, top[w], k)
			m.load(Mem{Base: p[2], Index: out, Scale: 1, Disp: w * m.width}, left[w], k)
		}
		line, lines, tap, taps := GP64(), param("lines"), GP64(), GP64()
		route := func(first bool) {
			for w := range top {
				x := m.vec()
				m.load(Mem{Base: p[1], Index: tap, Scale: 1, Disp: w * m.width}, x, k)
				taken := m.atTop(x, top[w], first).keep(left[w])
				m.xor(taken, left[w], left[w]) // taken is either all of left or zero
				m.store(taken, Mem{Base: p[0], Index: tap, Scale: 1, Disp: w * m.width}, k)
			}
		}
		MOVQ(in, line)
		MOVQ(line, tap)
		Load(Param("taps"), taps)
		route(true)
		JMP(LabelRef(l[3]))
		Label(l[1])
		MOVQ(line, tap)
		Load(Param("taps"), taps)
		Label(l[2])
		route(false)
		Label(l[3])
		ADDQ(param("tapStep"), tap)
		DECQ(taps)
		JNZ(LabelRef(l[2]))
		ADDQ(param("lineStep"), line)
		DECQ(lines)
		JNZ(LabelRef(l[1]))
		ADDQ(param("stride0"), out)
		ADDQ(param("stride1"), in)
		DECQ(rows)
		JNZ(LabelRef(l[0]))
	})
	end()
}

// copyRows writes the packing kernel, which copies rows of cols elements from one stride to another. It prefetches rows ahead,
// which are on other pages, because the processor would not.
func (m *machine) copyRows() {
	n, p := m.function("copyRows", "copies rows; rows > 0.", []string{"rows", "cols", "stride0", "stride1"}, []string{"dst", "x"})
	m.stripsOf(2, n[1], p, func(width int, k *mask) {
		rows, at := m.rowCursor(n[0], p)
		l := newLabels("copy")
		Label(l[0])
		for w := range width {
			v := m.vec()
			PREFETCHT0(Mem{Base: at[1], Index: n[3], Scale: 8, Disp: w * m.width})
			m.load(Mem{Base: at[1], Disp: w * m.width}, v, k)
			m.store(v, Mem{Base: at[0], Disp: w * m.width}, k)
		}
		ADDQ(n[2], at[0])
		ADDQ(n[3], at[1])
		DECQ(rows)
		JNZ(LabelRef(l[0]))
	})
	end()
}

func (m *machine) loadAll(p []Mem, k *mask) []reg.VecVirtual {
	v := make([]reg.VecVirtual, len(p))
	for i := range p {
		v[i] = m.vec()
		m.load(p[i], v[i], k)
	}
	return v
}

// walk emits a kernel that goes down the pixels, one vector of channels at a time. There are two strides, the first for dst or
// the x side, the second for the other operands; of four pointers, two have each. Held operands stay in registers for the whole
// walk; held "acc" is stored at its end.
func (m *machine) walk(name string, pointers, held []string, body func(p []Mem, held []reg.VecVirtual, k *mask)) {
	n, p := m.function(name, "goes through pixels; rows > 0.", []string{"rows", "cols", "stride0", "stride1"}, append(pointers, held...))
	strip := func(width int, k *mask) {
		var regs [][]reg.VecVirtual
		for w := range width {
			regs = append(regs, nil)
			for _, q := range p[len(pointers):] {
				v := m.vec()
				m.load(Mem{Base: q, Disp: w * m.width}, v, k)
				regs[w] = append(regs[w], v)
			}
		}
		rows, at := m.rowCursor(n[0], p[:len(pointers)])
		l := newLabels("pixel")
		Label(l[0])
		for w := range width {
			var mems []Mem
			for _, a := range at {
				mems = append(mems, Mem{Base: a, Disp: w * m.width})
			}
			body(mems, regs[w], k)
		}
		for i, a := range at {
			ADDQ(n[2+i*2/len(at)], a)
		}
		DECQ(rows)
		JNZ(LabelRef(l[0]))
		for w := range width {
			if len(held) > 0 && held[0] == "acc" {
				m.store(regs[w][0], Mem{Base: p[len(pointers)], Disp: w * m.width}, k)
			}
		}
	}
	m.stripsOf(2, n[1], p, strip)
	end()
}
