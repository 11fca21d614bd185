// Package infer computes the shapes of TensorFlow ops from the shapes of their inputs and, where these are known, from
// the values of small integer inputs (targets of reshapes, axes, sizes).
//
// Sizes are concrete: a graph is inferred at two batch sizes, and what differs is fitted by a line. What depends on data
// (Where, Unique, sparse tensors) is not known before it is computed: its Value says so, and so do those that follow.
package infer
