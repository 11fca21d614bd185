// Package search chooses the hyperparameters of trainings: by a grid, at random, by a tree-structured Parzen estimator, or by successive
// halving. A Journal stores the results, so that an interrupted search can be resumed. Package cli runs the trainings.
package search
