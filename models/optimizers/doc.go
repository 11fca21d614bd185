// Package optimizers minimises a loss. A constructor makes an Optimizer with the usual
// defaults: Adam(0.002), SGD(0.1, WithClipNorm(1)). New makes one from a config file's
// name and parameters. Minimize differentiates the graph, once, and returns a TrainOp.
// This is data: groups of variables with their gradients, a rule and a learning rate
// schedule. A strategy decides where the update is computed: after the gradients in the
// training program, or next to the variables.
//
// The rules follow tf.compat.v1.train (sgd, momentum, adam, ...) and, if they differ,
// tf.keras.optimizers (keras_sgd, keras_adam, ...; WithKeras). They have TensorFlow's
// default hyper-parameters, ops and slot names. NewRule makes a rule of your own, and
// any type with an At method is a Schedule; both use package expr. Before a rule is
// applied, gradients are accumulated, divided by a loss scale, and clipped, in this
// order.
package optimizers
