package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	dotGroup  = 4       // rows that share the vector's elements while these are in registers
	farAhead  = 1 << 14 // bytes between groups of rows from which prefetching the next group is too early
	nearAhead = 1 << 10 // bytes of a row that are prefetched instead
)

// dotRows writes the product of a matrix with a vector, four rows at a time. It prefetches the rows below, because the matrix
// comes from beyond the L2 cache and its rows are too short for the processor's own prefetching.
func (m *machine) dotRows() {
	n, p := m.function("dotRows", "sets dst, or where keep is 1 adds to it, alpha times the products of 4*groups rows with x; groups > 0. "+
		"The next group of rows is step bytes further, and its results hop.",
		[]string{"n", "groups", "stride", "step"}, []string{"dst", "a", "x"}, "alpha", "keep", "hop")
	alpha := m.scalar("alpha")
	count, groups, stride, ahead, dst, rows := n[0], n[1], n[2], n[3], p[0], p[1]
	near := GP64()
	MOVQ(U32(nearAhead), near)
	CMPQ(stride, U32(farAhead/dotGroup))
	CMOVQGT(near, ahead)
	group := newLabels("group")
	Label(group[0])
	at, below, x, left := GP64(), GP64(), GP64(), GP64()
	MOVQ(rows, at)
	LEAQ(Mem{Base: rows, Index: ahead, Scale: 1}, below)
	MOVQ(p[2], x)
	MOVQ(count, left)
	acc := m.dotSums(left, []reg.GPVirtual{at, below, x}, stride)
	l := newLabels("fresh", "kept")
	sums := make([]reg.VecVirtual, dotGroup)
	for r := range sums {
		m.add(acc[1][r], acc[0][r], acc[0][r])
		sums[r] = m.fold(acc[0][r], m.add)
		m.scalarOp(VMULSS, VMULSD)(alpha.AsX(), sums[r], sums[r])
	}
	keep := GP64()
	Load(Param("keep"), keep)
	TESTQ(keep, keep)
	JZ(LabelRef(l[0]))
	for r, s := range sums {
		m.scalarOp(VADDSS, VADDSD)(Mem{Base: dst, Disp: r * m.bytes}, s, s)
	}
	Label(l[0])
	for r, s := range sums {
		m.scalarOp(VMOVSS, VMOVSD)(s, Mem{Base: dst, Disp: r * m.bytes})
	}
	m.addParam("hop", dst)
	m.addParam("step", rows)
	DECQ(groups)
	JNZ(LabelRef(group[0]))
	end()
}

// dotSums goes over n elements of the rows at p[0], the rows below at p[1] and the vector at p[2], and returns two sums for
// each row.
func (m *machine) dotSums(n reg.GPVirtual, p []reg.GPVirtual, stride reg.GPVirtual) [2][]reg.VecVirtual {
	var acc [2][]reg.VecVirtual
	for i := range acc {
		for range dotGroup {
			v := m.vec()
			m.zero(v)
			acc[i] = append(acc[i], v)
		}
	}
	_, at := rowAddresses(dotGroup, p[0], stride)
	_, below := rowAddresses(dotGroup, p[1], stride)
	m.each(n, p, 2, func(disp int, k *mask) {
		x := m.vec()
		m.load(Mem{Base: p[2], Disp: disp}, x, k)
		for r := range dotGroup {
			if disp%64 == 0 {
				line := below[r]
				line.Disp += disp
				PREFETCHT0(line)
			}
			row, v := at[r], m.vec()
			row.Disp += disp
			m.load(row, v, k)
			m.fma231(x, v, acc[disp/m.width][r])
		}
	})
	return acc
}

// addParam adds an argument that has no register of its own.
func (m *machine) addParam(name string, to reg.GPVirtual) {
	v := GP64()
	Load(Param(name), v)
	ADDQ(v, to)
}

// scalarOp chooses between the scalar forms of an instruction.
func (m *machine) scalarOp(f32, f64 func(...Op)) func(...Op) {
	if m.bytes == 4 {
		return f32
	}
	return f64
}
