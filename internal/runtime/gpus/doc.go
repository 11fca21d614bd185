// Package gpus chooses the device that programs run on: a GPU of this machine, or the host.
//
// A Source hands out GPUs: CUDA is this machine's, package gpustest has emulated ones for tests. A Chooser
// lets several users share a GPU, follows what the user said ("/gpu:1", "/cpu:0", or nothing), and says why a GPU is not used.
package gpus
