// Package optimizers minimises a loss. An Optimizer's Minimize differentiates
// the graph, once, and returns a TrainOp, which is data: groups of variables
// with their gradients, a named rule and a learning rate schedule. A strategy
// decides where the TrainOp's update is emitted: behind the gradients in the
// training program, or in a program of its own next to the variables.
//
// The rules are those of tf.compat.v1.train (sgd, momentum, adam, ...) and,
// where they differ, of tf.keras.optimizers (keras_sgd, keras_adam, ...), with
// TensorFlow's default hyper-parameters, ops and names of slots. Before a rule,
// gradients are accumulated, freed of a loss scale, and clipped, in this order.
package optimizers
