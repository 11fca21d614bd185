// Package sidecar is the loop of an evaluator task, which evaluates the checkpoints of
// a training in another process until that has ended. It reads model_dir alone: the chief's
// checkpoints and its record of the end. Evaluations are recorded as TensorBoard events.
package sidecar
