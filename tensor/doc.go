// Package tensor holds dense arrays in host memory: features, labels, predictions,
// variables, and the inputs and outputs of models that are served.
//
// A Tensor has an element type (DType), a shape and its elements, row-major. FromSlice
// and FromStrings make one of a Go slice, Values gives the slice back; neither copies.
// Element types have TensorFlow's names and numbers.
package tensor
