// Package lower makes launches on a GPU of the operations of a program: Lower turns an engine.Operation into a Step, whose
// Bind says what to launch for the operands' present places and sizes.
//
// Each file holds a family of ops with its table, as the engine's registry does. Own kernels come from package kernels;
// matrix products and convolutions from what implements Products and Convolutions: NVIDIA's libraries or own kernels.
//
// What a kernel finds wrong it notes in the fault record (see kernels/src/prelude.cu); from then on nothing writes a
// variable. Fault puts the record into words.
package lower
