package ps

import (
	"math/bits"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// scratch keeps the memory of rows between requests, by the logarithm of its size. Left to the
// collector, it could pile up to the size of the tables, compared to which it is small.
var scratch [64]sync.Pool

// acquireScratch returns n bytes with arbitrary contents, aligned for every element type.
func acquireScratch(n int) []byte {
	if n == 0 {
		return nil
	}
	class := bits.Len(uint(n - 1))
	if b, ok := scratch[class].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return tensor.New(tensor.Uint8, 1<<class).Bytes[:n]
}

// releaseScratch takes back a result of acquireScratch that is no longer used.
func releaseScratch(b []byte) {
	if b = b[:cap(b)]; len(b) > 0 {
		scratch[bits.Len(uint(len(b)-1))].Put(&b)
	}
}

// int32s views scratch memory.
func int32s(b []byte) []int32 {
	return tensor.Values[int32](&tensor.Tensor{DType: tensor.Int32, Shape: []int{len(b) / 4}, Bytes: b})
}

// resizeScratch returns n bytes with arbitrary contents in *b, which it replaces if it is too
// small.
func resizeScratch(b *[]byte, n int) []byte {
	if cap(*b) < n {
		releaseScratch(*b)
		*b = acquireScratch(n)
	}
	return (*b)[:n]
}
