// Package losses holds the losses of tf.losses. Each returns a scalar node or, with the
// reduction None, unreduced losses, weighted and reduced by TensorFlow's definitions.
// Errors stick to the Builder, as in models/ops.
package losses
