// Package onnx reads and writes models in the Open Neural Network Exchange format
// (github.com/onnx/onnx, onnx.proto: IR version 8 is written, 3 to 14 are read).
//
// The messages are generated from goestimator_onnx.proto, which has the part of onnx.proto
// that is written or read, under its own name: the protobuf library ends a program
// that links two files with the same name, and other modules link onnx.proto.
//
// Read takes files from anywhere: bad input is an error, never a panic, and
// memory stays in proportion to the files. Files beside a model are read only from its folder.
package onnx
