//go:build !amd64

package nccl

import "unsafe"

// initRank calls ncclCommInitRankConfig. It takes the ID by value, which on arm64 is the address of a copy.
func (n *native) initRank(comm *communicator, m membership, c *config) uintptr {
	id := *m.id
	return n.join.Call(uintptr(unsafe.Pointer(comm)), uintptr(m.total), uintptr(unsafe.Pointer(&id)), uintptr(m.rank), uintptr(unsafe.Pointer(c)))
}
