// Package models has what a model_fn builds a model with: the mode, the features and
// labels, and the Builder. The model_fn makes Gorgonia nodes; the Builder makes
// variables, scopes, updates and summaries.
//
// Differentiable ops are in models/ops, layers in models/layers, losses in
// models/losses, optimizers in models/optimizers. Whole networks, from features to
// logits, are in models/networks.
package models
