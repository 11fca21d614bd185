// Package peers sums over GPUs, where every GPU brings as many elements and gets the sum of all.
//
// A Reducer has three forms: NCCL (package nccl), Exchange by copies between the GPUs, and Host through the host's memory.
// Exchange and Host add in the order of the ranks, so both give the same bits, as adding on the host would. NCCL chooses
// its order by the machine and the size.
//
// A Network makes Groups of GPUs of several processes: NCCL between machines, and Memory, its twin within a process.
package peers
