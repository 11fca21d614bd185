// Package kernels has the CUDA device's own kernels: CUDA C++ sources, the arguments of each kernel, and functions that make
// a Call, the launch of a kernel over given sizes.
//
// The kernels compute in float32 what package internal/runtime/kernels computes on the host, with the same parameters and
// special cases. The order of sums depends only on sizes. Values that change from step to step (learning rates, random
// counters) are read from memory of the GPU, so that a captured graph stays valid.
//
// Chain generates kernels for elementwise parts of a graph. Load compiles modules and Library launches calls.
//
// The tests compile the sources with NVRTC for sm_80 and sm_90, and run them on the processor (package emulate).
package kernels
