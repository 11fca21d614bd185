// Package update emits what an optimizers.TrainOp says into a graph: the
// accumulation of gradients, loss scale, transforms and each variable's rule, and
// it knows the names of the state that this takes. A strategy decides where the
// update is emitted: behind the gradients in the training program, or in a
// program of its own next to the variables.
package update
