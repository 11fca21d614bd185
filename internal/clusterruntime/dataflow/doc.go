// Package dataflow runs a graph as TensorFlow's executor does: a node runs as soon as its inputs are available, and
// independent nodes run concurrently.
//
// Branches and loops are the primitives of TensorFlow 1. Switch sends its input to one of two outputs and nothing to the
// other one. A node whose input is not sent does not run and sends nothing either: it is dead. Merge takes the first input
// that arrives. Enter, NextIteration and Exit carry values into a loop, to its next iteration and out of it. Each
// iteration has its own state, and several run at the same time. The rules are described in "Implementation of Control
// Flow in TensorFlow" (Yu et al., 2017) and tensorflow/core/common_runtime/propagator_state.cc.
//
// Edges between devices are _Send and _Recv nodes, which meet in a Rendezvous. All other ops are kernels of
// internal/imported/eager.
package dataflow
