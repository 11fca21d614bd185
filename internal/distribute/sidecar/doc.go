// Package sidecar is the loop of an evaluator task, which evaluates the checkpoints of a
// training in another process until training ends. It reads only model_dir: the chief's
// checkpoints and record of the end. Evaluations are recorded as TensorBoard events.
package sidecar
