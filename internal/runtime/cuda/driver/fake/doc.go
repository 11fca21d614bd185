// Package fake is a GPU's driver in ordinary memory, for tests on machines without one.
//
// Its addresses mean nothing to the host. Memory starts out as NaN, is guarded at its end, and its use after Free is
// found. Streams work on goroutines of their own, so that a forgotten wait shows under the race detector. Kernels are Go
// functions registered by name; a module's PTX text says which names it has and with how many arguments. Errors can be
// injected into any call, and Leaks tells what was not given back.
package fake
