// Package onnx writes models in the Open Neural Network Exchange format
// (github.com/onnx/onnx, onnx.proto: IR version 8).
//
// The messages are generated from goestimator_onnx.proto, the part of onnx.proto
// that is written, under a name of its own: the protobuf library ends a program
// that links two files of one name, and other modules link onnx.proto.
package onnx
