// Package peers sums over GPUs: every GPU contributes the same number of elements and gets the sum.
//
// There are three Reducers: NCCL (package nccl), Exchange with copies between the GPUs, and Host through the host's memory.
// Exchange and Host sum in the order of the ranks, so both give the same bits as a sum on the host. NCCL chooses its order
// by the machine and the size.
//
// A Network makes Groups of GPUs of several processes: NCCL between machines, and Memory, its twin within a process.
package peers
