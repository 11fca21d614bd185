// Package heads turns logits into losses, predictions, metrics and signatures:
// the last part of a model, by the names and definitions of tf.estimator's
// heads. ModelFn puts a network, a head and an optimizer together.
package heads
