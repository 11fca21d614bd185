package device

import "unsafe"

// Alignment of every buffer, in bytes: a cache line, the widest vector load.
const Alignment = 64

// alignedBytes returns n zeroed bytes of the Go heap that start at a multiple of Alignment.
func alignedBytes(n int) []byte {
	b := make([]byte, n+Alignment)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (Alignment - 1))
	return b[off : off+n : off+n]
}
