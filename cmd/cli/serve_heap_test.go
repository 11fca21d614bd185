//go:build !noserve

package cli

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestHeapBallast(t *testing.T) {
	if n := len(heapBallast()); n != heapFloor {
		t.Errorf("got %d bytes, expected %d", n, heapFloor)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		t.Fatal("no limit is set")
	}
	if b := heapBallast(); b != nil {
		t.Errorf("with a memory limit: got %d bytes", len(b))
	}
}
