// Package driver has the interfaces to a GPU's driver that the CUDA device needs: devices, memory of the device and pinned
// memory of the host, streams, events, modules of PTX, launches, and graphs captured from a stream.
//
// Implementations: driver/libcuda calls libcuda.so.1, found at run time; driver/gorgoniacu (build tag cu) uses
// gorgonia.org/cu; driver/fake computes in ordinary memory, for tests. The tests of driver/drivertest are the contract of all
// of them.
//
// Everything may be called from any goroutine. A stream serves one goroutine at a time.
package driver
