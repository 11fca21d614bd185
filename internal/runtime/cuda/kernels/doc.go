// Package kernels holds the CUDA device's own kernels: CUDA C++ sources, what arguments each takes, and functions that make
// a Call, the launch of one over given sizes.
//
// The kernels compute in float32 what package internal/runtime/kernels computes on the host, with the same meaning of parameters
// and of special cases. Sums are added in an order that depends on sizes alone. What changes from step to step (learning
// rates, random counters) they read from memory of the GPU, so that a captured graph stays right.
//
// Chain generates kernels for elementwise parts of a graph. Load compiles modules and Library launches calls.
//
// The tests compile the sources with NVRTC for sm_80 and sm_90, and run them on the processor (package emulate).
package kernels
