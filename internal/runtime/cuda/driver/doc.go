// Package driver is what the CUDA device needs of a GPU's driver, as interfaces: devices, memory of the device and pinned
// memory of the host, streams, events, modules of PTX, launches, and graphs captured from a stream.
//
// Implementations: driver/libcuda calls libcuda.so.1 found at run time; driver/gorgoniacu (build tag cu) goes through
// gorgonia.org/cu; driver/fake computes in ordinary memory, for tests. driver/drivertest holds the contract that they
// all keep.
//
// Everything may be called from any goroutine. A stream serves one goroutine at a time.
package driver
