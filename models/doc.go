// Package models is what a network is made of: the mode it is built for, the
// features and labels that come in, and the Builder that a model_fn draws
// variables, scopes, updates and summaries from while it builds Gorgonia nodes.
//
// Differentiable ops are in models/ops, layers in models/layers, losses in
// models/losses, optimizers in models/optimizers, and whole networks, features
// in and logits out, in models/networks.
package models
