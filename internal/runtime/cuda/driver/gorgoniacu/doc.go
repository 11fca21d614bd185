// Package gorgoniacu is the driver of NVIDIA's GPUs through gorgonia.org/cu. It exists with the build tag cu alone: that
// module needs cgo and CUDA's headers, and ends a process on a machine without a GPU before main begins. What it lacks
// (pinned memory, captured graphs, more than 48 KiB of shared memory) is called here, from the same header.
//
// It keeps the contract of driver/drivertest. The default is driver/libcuda, which needs neither cgo nor a header.
//
// To build it with the headers of the Python package nvidia-cuda-runtime-cu12 (CUDA 13's need the folder include, first):
//
//	CGO_CFLAGS="-I$PWD/internal/device/cuda/driver/gorgoniacu/include -I.../nvidia/cuda_runtime/include" go vet -tags cu ./internal/runtime/cuda/driver/gorgoniacu
package gorgoniacu
