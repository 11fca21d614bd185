// Package libcuda is the driver of NVIDIA's GPUs: libcuda.so.1, found at run time and called without cgo.
//
// Contexts are the GPUs' primary contexts, shared with other libraries of the process (cuBLAS, cuDNN, NCCL). Every call makes
// its context current on its thread, so any goroutine may call.
package libcuda
