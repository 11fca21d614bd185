package driver

import (
	"fmt"
	"math"
)

// Dim is a number of blocks of a grid or threads of a block in each dimension. A zero means 1.
type Dim struct{ X, Y, Z int }

// Count returns the product of the dimensions.
func (d Dim) Count() int { return max(d.X, 1) * max(d.Y, 1) * max(d.Z, 1) }

// Limits of every GPU since compute capability 3.0.
const (
	MaxThreads = 1024      // of a block
	MaxGridX   = 1<<31 - 1 // blocks
	MaxGridYZ  = 65535     // blocks
	MaxArgs    = 64        // of a launch through this package
)

// Launch says over which grid a function runs.
type Launch struct {
	Grid, Block Dim
	Shared      int // bytes of dynamic shared memory
	Args        []Arg
}

// Check fails if no GPU accepts the launch.
func (l Launch) Check() error {
	g, b := l.Grid, l.Block
	switch {
	case min(g.X, g.Y, g.Z, b.X, b.Y, b.Z, l.Shared) < 0:
		return fmt.Errorf("launch of grid %v, block %v, %d bytes: expected no negative size", g, b, l.Shared)
	case max(b.X, b.Y) > MaxThreads || b.Z > 64 || b.Count() > MaxThreads:
		return fmt.Errorf("launch of block %v: expected at most %d threads", b, MaxThreads)
	case g.X > MaxGridX || g.Y > MaxGridYZ || g.Z > MaxGridYZ:
		return fmt.Errorf("launch of grid %v: expected at most %d x %d x %d blocks", g, MaxGridX, MaxGridYZ, MaxGridYZ)
	case len(l.Args) > MaxArgs:
		return fmt.Errorf("launch with %d arguments: expected at most %d", len(l.Args), MaxArgs)
	}
	return nil
}

// Arg is an argument of a kernel, in the low bytes of a cell of 8 bytes.
type Arg uint64

// Address passes a pointer to memory of the GPU.
func Address(p Ptr) Arg { return Arg(p) }

// Int32 passes an int.
func Int32(v int32) Arg { return Arg(uint32(v)) }

// Int64 passes a long long.
func Int64(v int64) Arg { return Arg(v) }

// Float32 passes a float.
func Float32(v float32) Arg { return Arg(math.Float32bits(v)) }
