// Package nccl sums over GPUs by NVIDIA's NCCL, libnccl.so.2, found at run time and called without cgo. A Group is a
// peers.Reducer for GPUs of this process, and a peers.Group for GPUs of several processes.
//
// The ranks of a group may be of several processes, of several machines: one of them makes an ID, sends its bytes to the
// others (package distribute brings them there), and each process calls Network.Join with the ranks that are its own. A
// process that has no NCCL must be known before: the others would wait for it, as long as their context lets them. Calls of
// such groups do not block in the library; what a group has in streams when a rank is lost ends with Abort.
//
// NCCL adds in an order of its own, which depends on the machine and the size alone.
package nccl
