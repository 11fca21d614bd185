// Package special has special functions, computed in the precision of their
// elements as TensorFlow 2.15 does: at edges, and where a formula cancels, its
// rounding decides the result. DLMF is the NIST Digital Library of Mathematical
// Functions.
package special
