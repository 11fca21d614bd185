// Package search chooses the hyperparameters of trainings: by a grid, at random, by a tree-structured Parzen estimator, or by successive halving.
// A Journal keeps what came of them, so that an interrupted search goes on. Package cli runs the trainings.
package search
