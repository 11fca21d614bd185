// Package ops holds the differentiable ops that networks are made of. Each corresponds to
// the TensorFlow op of the same name in its shapes, its gradient (made of TensorFlow's
// gradient ops) and its form in the intermediate representation. They may be mixed with
// Gorgonia's own ops, except for ops that internal/compiler/lower refuses.
//
// Every function takes a models.Context first and returns a node. The first error
// sticks to the Builder: after it, all functions return nil and accept nil operands,
// so a model_fn need only check for errors at its end. Images are NHWC, convolution
// filters HWIO, labels integers. Elementwise ops of two operands broadcast by
// NumPy's rules. Gradients are TensorFlow's. Second derivatives are an error, since
// Gorgonia's are wrong.
package ops
