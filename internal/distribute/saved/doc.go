// Package saved carries the state of a strategy to checkpoints and back: variables
// with the optimizer's state, whole or in parts, the positions of inputs, and what
// else its owner keeps there as strings under names of its own.
package saved
