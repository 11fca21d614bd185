// Package onnx writes models in the Open Neural Network Exchange format
// (github.com/onnx/onnx, onnx.proto: IR version 8), straight to bytes: the
// messages are few, and no generated code is linked that could meet another
// module's.
package onnx
