package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose writes the kernel that transposes strips of 8 (doubles: 4) rows, one square block after the other.
func transpose(m *machine) {
	m.text("transpose", "func(dst *byte, ldd int, src *byte, lds int, blocks int)",
		"moves one strip of rows to columns; strides in bytes, blocks of as many columns as the strip has rows.")
	size := m.lanes()
	dst, src := Load(Param("dst"), GP64()).(reg.GPVirtual), Load(Param("src"), GP64()).(reg.GPVirtual)
	ldd, lds := Load(Param("ldd"), GP64()).(reg.GPVirtual), Load(Param("lds"), GP64()).(reg.GPVirtual)
	blocks := Load(Param("blocks"), GP64()).(reg.GPVirtual)
	srcBases, from := rowAddresses(size, src, lds)
	dstBases, to := rowAddresses(size, dst, ldd)
	step := GP64()
	MOVQ(ldd, step)
	SHLQ(Imm(uint64(2+size/8)), step)
	Label("block")
	v := make([]reg.VecVirtual, size)
	for i := range v {
		v[i] = YMM()
		m.mov(from[i], v[i])
	}
	if size == 8 {
		v = transpose8(v)
	} else {
		v = transpose4(v)
	}
	for i := range v {
		m.mov(v[i], to[i])
	}
	for _, b := range srcBases {
		ADDQ(Imm(uint64(m.width)), b)
	}
	for _, b := range dstBases {
		ADDQ(step, b)
	}
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

func transpose8(v []reg.VecVirtual) []reg.VecVirtual {
	t, u, w := newYMM(8), newYMM(8), newYMM(8)
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(v[i+1], v[i], t[i])
		VUNPCKHPS(v[i+1], v[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		VSHUFPS(Imm(0x44), t[i+2], t[i], u[i])
		VSHUFPS(Imm(0xee), t[i+2], t[i], u[i+1])
		VSHUFPS(Imm(0x44), t[i+3], t[i+1], u[i+2])
		VSHUFPS(Imm(0xee), t[i+3], t[i+1], u[i+3])
	}
	for i := range 4 {
		VPERM2F128(Imm(0x20), u[i+4], u[i], w[i])
		VPERM2F128(Imm(0x31), u[i+4], u[i], w[i+4])
	}
	return w
}

func transpose4(v []reg.VecVirtual) []reg.VecVirtual {
	t, w := newYMM(4), newYMM(4)
	for i := 0; i < 4; i += 2 {
		VUNPCKLPD(v[i+1], v[i], t[i])
		VUNPCKHPD(v[i+1], v[i], t[i+1])
	}
	for i := range 2 {
		VPERM2F128(Imm(0x20), t[i+2], t[i], w[i])
		VPERM2F128(Imm(0x31), t[i+2], t[i], w[i+2])
	}
	return w
}

func newYMM(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = YMM()
	}
	return v
}
