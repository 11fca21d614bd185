// Package lower turns the operations of a program into launches on a GPU: Lower turns an engine.Operation into a Step, whose
// Bind makes the launches for the operands' current places and sizes.
//
// Each file has a family of ops with its table, as in the engine. Own kernels come from package kernels. Matrix products and
// convolutions come from implementations of Products and Convolutions: NVIDIA's libraries or own kernels.
//
// A kernel records a fault in the fault record (see kernels/src/prelude.cu); from then on nothing writes a variable. Fault
// turns the record into an error.
package lower
