// Package optimizers minimises a loss. A constructor makes an Optimizer with the
// field's defaults: Adam(0.002), SGD(0.1, WithClipNorm(1)); New makes one from a
// config file's name and parameters. Its Minimize differentiates the graph, once,
// and returns a TrainOp, which is data: groups of variables with their gradients, a
// rule and a learning rate schedule. A strategy decides where the update is
// computed: after the gradients in the training program, or next to the variables.
//
// The rules follow tf.compat.v1.train (sgd, momentum, adam, ...) and, where they
// differ, tf.keras.optimizers (keras_sgd, keras_adam, ...; WithKeras). They have
// TensorFlow's default hyper-parameters, ops and names of slots. NewRule makes a
// rule of your own, and any type with an At method is a Schedule; both are written
// over package expr. Before a rule, gradients are accumulated, divided by a loss
// scale, and clipped, in this order.
package optimizers
