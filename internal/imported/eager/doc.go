// Package eager computes single TensorFlow ops on host tensors of any shape and
// type. It runs what cannot be compiled by internal/runtime/engine: strings, lookup
// tables, sparse and ragged tensors, the parsing of tf.Example, shapes that
// depend on data; and every numeric op of an inference graph, simply.
//
// A node is resolved once (Prepare) and run many times. Kernels are safe for
// concurrent use, allocate their outputs alone, and never more than Env.Limit
// for one. Models and requests are taken to be hostile: whatever does not fit is
// an *Error that names the node.
package eager
