package nccl

import (
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// byValueAddress is the address of byValue in the assembly file.
var byValueAddress uintptr

// initRank calls ncclCommInitRankConfig, which takes the ID by value.
func (n *native) initRank(comm *communicator, m membership, c *config) uintptr {
	return dylib.Proc(byValueAddress).Call(uintptr(unsafe.Pointer(comm)), uintptr(m.total), uintptr(m.rank), uintptr(unsafe.Pointer(c)),
		uintptr(unsafe.Pointer(m.id)), uintptr(n.join))
}
