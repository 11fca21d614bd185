// Package infer computes the shapes of TensorFlow ops from the shapes of their inputs and, where they are known, from
// the values of small integer inputs (targets of reshapes, axes, sizes).
//
// Sizes are concrete: a graph is inferred at two batch sizes, and sizes that differ are fitted by a line. The shape of a result
// that depends on data (Where, Unique, sparse tensors) is not known before it is computed; its Value and all Values after it say so.
package infer
