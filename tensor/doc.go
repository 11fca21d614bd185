// Package tensor holds dense arrays in host memory: features, labels, predictions,
// variables, and the inputs and outputs of models that are served.
//
// A Tensor has an element type (DType), a shape, and elements in row-major order.
// FromSlice and FromStrings make one from a Go slice, and Values returns the slice;
// neither copies. Element types have TensorFlow's names and numbers.
package tensor
