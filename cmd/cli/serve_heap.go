//go:build !noserve

package cli

import (
	"math"
	"runtime/debug"
)

// heapFloor is the least garbage, in bytes, that a server makes between two collections.
// A server's own heap is small compared to the garbage of requests: without
// a floor it would be collected dozens of times a second.
const heapFloor = 64 << 20

// heapBallast counts as heap but is never touched, so that it takes no memory. The
// caller keeps it alive. It is nil if a memory limit is set, which then controls collections.
func heapBallast() []byte {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return nil
	}
	return make([]byte, heapFloor)
}
