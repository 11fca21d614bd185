// Package gpus chooses the device that programs run on: a GPU of this machine, or the host.
//
// A Source opens GPUs: CUDA opens this machine's, and package gpustest has emulated GPUs for tests. A Chooser opens the device
// that the user named ("/gpu:1", "/cpu:0", or nothing), lets several users share a GPU, and logs why a GPU is not used.
package gpus
