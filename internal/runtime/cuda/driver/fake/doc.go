// Package fake is a GPU's driver in ordinary memory, for tests on machines without one.
//
// Its addresses mean nothing to the host. Memory starts as NaN and is guarded at its end; use after Free is detected.
// Streams work on goroutines of their own, so that the race detector finds a forgotten wait. Kernels are Go functions
// registered by name; a module's PTX text has the names and numbers of arguments of its kernels. Errors can be injected
// into any call, and Leaks lists what was not freed.
package fake
