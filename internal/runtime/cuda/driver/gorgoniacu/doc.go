// Package gorgoniacu is the driver of NVIDIA's GPUs through gorgonia.org/cu. It exists only with the build tag cu: that module
// needs cgo and CUDA's headers, and on a machine without a GPU it ends a process before main begins. The package itself calls
// the functions that the module does not have (pinned memory, captured graphs, more than 48 KiB of shared memory).
//
// It keeps the contract of driver/drivertest. The default is driver/libcuda, which needs neither cgo nor a header.
//
// To build it with the headers of the Python package nvidia-cuda-runtime-cu12 (CUDA 13's headers need the folder include):
//
//	CGO_CFLAGS="-I$PWD/internal/runtime/cuda/driver/gorgoniacu/include -I.../nvidia/cuda_runtime/include" go vet -tags cu ./internal/runtime/cuda/driver/gorgoniacu
package gorgoniacu
