// Package gpus chooses the device that programs run on: a GPU of this machine, or the host.
//
// A Source hands out GPUs: CUDA is this machine's, package gpustest has emulated ones for tests. Share lets several users have
// the same GPU. Choose follows what the user said ("/gpu:1", "/cpu:0", or nothing) and says why a GPU is not used.
package gpus
