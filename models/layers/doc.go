// Package layers makes the usual layers out of models/ops: each creates its
// variables in a scope of its own and returns its output.
//
// Names, defaults and definitions follow tf.layers: kernels are Glorot uniform,
// biases zero, and the first dense layer's variables are "dense/kernel" and
// "dense/bias", the second's "dense_1/kernel" and "dense_1/bias". Images are NHWC.
// Errors stick to the Builder, as in models/ops.
package layers
