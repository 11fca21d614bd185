// Package special has special functions in the precision of their elements, as
// TensorFlow 2.15 computes them: at edges, and where a formula cancels, its way of
// rounding decides the result. DLMF is the Digital Library of Mathematical
// Functions of NIST.
package special
