// Package distribute holds the strategies: who owns the variables of a model,
// and how gradients become updates. A model_fn does not change with the
// strategy; the Estimator hands its programs to whichever was chosen.
package distribute
