// Package losses holds the losses of tf.losses: each returns a scalar node (or,
// with the reduction None, one value per example), weighted and reduced by
// TensorFlow's definitions. Errors stick to the Builder, as in models/ops.
package losses
