// Package models has the parts of a model that a model_fn works with: the mode it
// is built for, its features and labels, and the Builder. While the model_fn builds
// Gorgonia nodes, the Builder makes variables, scopes, updates and summaries.
//
// Differentiable ops are in models/ops, layers in models/layers, losses in
// models/losses, optimizers in models/optimizers. Whole networks, from features to
// logits, are in models/networks.
package models
