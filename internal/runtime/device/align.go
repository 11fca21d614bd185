package device

import "unsafe"

// Alignment of every buffer, in bytes: a cache line, the widest vector load.
const Alignment = 64

// hugePage is the size of a huge page on common processors. Buffers of several
// huge pages use them if the system has them. Reading random rows of a table then
// costs a fraction, since address translations stay in the cache.
const hugePage = 2 << 20

// alignedBytes returns n zeroed bytes of the Go heap that start at a multiple of Alignment.
func alignedBytes(n int) []byte {
	align := Alignment
	if n >= 4*hugePage {
		align = hugePage
	}
	b := make([]byte, n+align)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(align-1))
	b = b[off : off+n : off+n]
	if align == hugePage {
		adviseHugePages(b[:n&^(hugePage-1)])
	}
	return b
}
