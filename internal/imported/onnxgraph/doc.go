// Package onnxgraph makes of an ONNX model what the session loads: a graph of TensorFlow's ops with one signature.
//
// Each operator is translated, by the version that the model asks for, into ops that have kernels (Operators lists them). What depends on
// constants alone is computed at once. Images stay with their channels last from one convolution to the next, whatever the
// model says: a value has two forms, and the other one is made where an operator asks for it. Branches and loops become functions.
// Weights become variables, so that all programs of a session share them.
//
// What is not translated is listed all together, with reasons: see [UnsupportedError].
package onnxgraph
