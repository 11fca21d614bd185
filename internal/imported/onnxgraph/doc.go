// Package onnxgraph translates an ONNX model into what the session loads: a graph of TensorFlow's ops with one signature.
//
// Each operator is translated, by the version that the model asks for, into ops that have kernels (Operators lists them). Constant
// expressions are computed at once. Images keep their channels last from one convolution to the next, whatever the
// model says: a value has two layouts, and the other one is made when an operator asks for it. Branches and loops become functions.
// Weights become variables, so that all programs of a session share them.
//
// An [UnsupportedError] lists everything that cannot be translated, with reasons.
package onnxgraph
