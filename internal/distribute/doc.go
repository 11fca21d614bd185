// Package distribute holds the strategies, which decide where the variables of a
// model are and how gradients become updates. A model_fn does not depend on the
// strategy: the Estimator passes its programs to the one that was chosen.
package distribute
