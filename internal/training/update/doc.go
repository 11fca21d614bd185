// Package update emits the update of an optimizers.TrainOp into a graph: the
// accumulation of gradients, loss scale, transforms and each variable's rule. It
// also names the state that this needs. A strategy decides where the
// update is emitted: after the gradients in the training program, or in a
// separate program next to the variables.
package update
