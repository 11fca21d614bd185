// Package saved writes the state of a strategy to checkpoints and restores it:
// variables with the optimizer's state, whole or in parts, the positions of inputs, and
// further strings that the strategy's owner stores under its own names.
package saved
