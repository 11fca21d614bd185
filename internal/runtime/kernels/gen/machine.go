package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elem is an element type: its width and the instructions that depend on it.
type elem struct {
	name  string // suffix of kernel names
	bytes int
	add, sub, mul, div, min, max,
	sqrt, mov, maskmov, fma231, fma213, fnma231,
	and, or, xor, andn, blend func(...Op)
	broadcast func(...Op)
	cmp       func(...Op)
}

var single = &elem{
	name: "F32", bytes: 4,
	add: VADDPS, sub: VSUBPS, mul: VMULPS, div: VDIVPS, min: VMINPS, max: VMAXPS,
	sqrt: VSQRTPS, mov: VMOVUPS, fma231: VFMADD231PS, fma213: VFMADD213PS, fnma231: VFNMADD231PS,
	and: VANDPS, or: VORPS, xor: VXORPS, andn: VANDNPS,
	broadcast: VBROADCASTSS, cmp: VCMPPS,
	maskmov: func(o ...Op) { VMASKMOVPS(o[0], o[1], o[2]) },
	blend:   func(o ...Op) { VBLENDVPS(o[0], o[1], o[2], o[3]) },
}

var double = &elem{
	name: "F64", bytes: 8,
	add: VADDPD, sub: VSUBPD, mul: VMULPD, div: VDIVPD, min: VMINPD, max: VMAXPD,
	sqrt: VSQRTPD, mov: VMOVUPD, fma231: VFMADD231PD, fma213: VFMADD213PD, fnma231: VFNMADD231PD,
	and: VANDPD, or: VORPD, xor: VXORPD, andn: VANDNPD,
	broadcast: VBROADCASTSD, cmp: VCMPPD,
	maskmov: func(o ...Op) { VMASKMOVPD(o[0], o[1], o[2]) },
	blend:   func(o ...Op) { VBLENDVPD(o[0], o[1], o[2], o[3]) },
}

// machine is an element type on an instruction set.
type machine struct {
	*elem
	isa   string
	width int // bytes of a vector
}

func (m *machine) wide() bool { return m.width == 64 }
func (m *machine) lanes() int { return m.width / m.bytes }

func machines(e *elem) []*machine {
	return []*machine{{e, "AVX2", 32}, {e, "AVX512", 64}}
}

// vec returns a new vector register.
func (m *machine) vec() reg.VecVirtual {
	if m.wide() {
		return ZMM()
	}
	return YMM()
}

// text starts a function; the caller's slices do not escape through it.
func (m *machine) text(name, signature, doc string) {
	TEXT(name+m.name+m.isa, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + m.name + m.isa + " " + doc)
}

func (m *machine) zero(v reg.Register) {
	if m.wide() {
		VPXORD(v, v, v)
		return
	}
	VXORPS(v, v, v)
}

// mask is the lanes of a last, partial vector.
type mask struct {
	k reg.Register // opmask on AVX-512, a vector of signs on AVX2
}

// lanesMask makes the mask of the first n lanes.
func (m *machine) lanesMask(n reg.GPVirtual) mask {
	if m.wide() {
		bits, k := GP64(), K()
		count := GP64()
		MOVQ(n, count)
		MOVQ(U64(1), bits)
		SHLXQ(count, bits, bits)
		DECQ(bits)
		KMOVW(bits.As32(), k)
		return mask{k}
	}
	v, x := YMM(), XMM()
	VMOVQ(n, x)
	if m.bytes == 4 {
		VPBROADCASTD(x, v)
		VPCMPGTD(m.iota(), v, v)
	} else {
		VPBROADCASTQ(x, v)
		VPCMPGTQ(m.iota(), v, v)
	}
	return mask{v}
}

// load reads a vector. If k is not nil, it reads only the lanes of k, and the others become zero.
func (m *machine) load(p Mem, v reg.Register, k *mask) {
	switch {
	case k == nil:
		m.mov(p, v)
	case m.wide() && m.bytes == 4:
		VMOVUPS_Z(p, k.k, v)
	case m.wide():
		VMOVUPD_Z(p, k.k, v)
	default:
		m.maskmov(p, k.k, v)
	}
}

// addMemory adds a vector in memory to v, only in the lanes of k if it is not nil.
func (m *machine) addMemory(p Mem, v reg.Register, k *mask) {
	switch {
	case k == nil:
		m.add(p, v, v)
	case m.wide():
		m.add(p, v, k.k, v)
	default:
		o := m.vec()
		m.load(p, o, k)
		m.add(o, v, v)
	}
}

// one returns the bits of 1.
func (m *machine) one() uint64 {
	if m.bytes == 4 {
		return uint64(math.Float32bits(1))
	}
	return math.Float64bits(1)
}

// store writes a vector, only the lanes of k if it is not nil.
func (m *machine) store(v reg.Register, p Mem, k *mask) {
	switch {
	case k == nil:
		m.mov(v, p)
	case m.wide():
		m.mov(v, k.k, p)
	default:
		m.maskmov(v, k.k, p)
	}
}

// constants already written, by value.
var constants = map[string]Mem{}

// constant returns 64 bytes of one repeated value.
func (m *machine) constant(v float64) Mem {
	if m.bytes == 4 {
		return m.pattern(uint64(math.Float32bits(float32(v))))
	}
	return m.pattern(math.Float64bits(v))
}

// pattern returns 64 bytes of one repeated bit pattern.
func (m *machine) pattern(bits uint64) Mem {
	name := fmt.Sprintf("const%s_%x", m.name, bits)
	if c, ok := constants[name]; ok {
		return c
	}
	c := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < 64; i += m.bytes {
		m.datum(i, bits)
	}
	constants[name] = c
	return c
}

// iota returns the lane numbers.
func (m *machine) iota() Mem {
	name := "iota" + m.name
	if c, ok := constants[name]; ok {
		return c
	}
	c := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < 64; i += m.bytes {
		m.datum(i, uint64(i/m.bytes))
	}
	constants[name] = c
	return c
}

func (m *machine) datum(at int, bits uint64) {
	if m.bytes == 4 {
		DATA(at, U32(bits))
		return
	}
	DATA(at, U64(bits))
}
