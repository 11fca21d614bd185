// Package nccl sums over GPUs with NVIDIA's NCCL, libnccl.so.2, found at run time and called without cgo. A Group is a
// peers.Reducer for GPUs of this process, and a peers.Group for GPUs of several processes.
//
// The ranks of a group may belong to several processes on several machines. One process makes an ID and sends its bytes to
// the others (package distribute transports them), and each process calls Network.Join with its own ranks. A process without
// NCCL must be known beforehand, as the others would wait for it until their contexts end. Calls of such groups do not block
// in the library. If a rank is lost, Abort ends the group's work in streams.
//
// NCCL sums in an order of its own, which depends only on the machine and the size.
package nccl
