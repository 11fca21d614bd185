// Package metricgraph adds metrics to graphs as TensorFlow operations: a variable of sums, an update op that folds a batch in, and the value of the sums.
package metricgraph
