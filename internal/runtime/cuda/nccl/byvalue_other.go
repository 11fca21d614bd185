//go:build !amd64

package nccl

import "unsafe"

// initRank calls ncclCommInitRankConfig. Its ID is passed by value: on arm64 that is the address of a copy.
func (n *native) initRank(comm *communicator, m membership, c *config) uintptr {
	id := *m.id
	return n.join.Call(uintptr(unsafe.Pointer(comm)), uintptr(m.total), uintptr(unsafe.Pointer(&id)), uintptr(m.rank), uintptr(unsafe.Pointer(c)))
}
