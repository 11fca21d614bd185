//go:build !noserve

package cli

import (
	"math"
	"runtime/debug"
)

// heapFloor is how much garbage a server makes at least between two collections, in
// bytes. A server's own heap is small next to what its requests leave behind: without
// a floor it would be collected dozens of times a second.
const heapFloor = 64 << 20

// heapBallast counts as heap and is never touched, so that it takes no memory; the
// caller keeps it alive. Where a memory limit is set, that alone says when to collect.
func heapBallast() []byte {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return nil
	}
	return make([]byte, heapFloor)
}
