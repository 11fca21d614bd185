// Package eager computes single TensorFlow ops on host tensors of any shape and
// type. It runs what internal/runtime/engine cannot compile: strings, lookup
// tables, sparse and ragged tensors, the parsing of tf.Example, and shapes that
// depend on data. It also has a simple kernel for every numeric op of an inference graph.
//
// A node is resolved once (Prepare) and run many times. Kernels are safe for
// concurrent use. They allocate only their outputs, and at most Env.Limit bytes
// for one. Models and requests are assumed to be hostile: anything invalid is
// reported as an *Error that names the node.
package eager
