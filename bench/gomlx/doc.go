// Command gomlx is a worker of the bench command that does a subject's work with
// GoMLX and its backend in Go:
//
//	gomlx train DIR            trains the mlp given in DIR
//	gomlx train_by_hand DIR    the same with gradients written as products
//	gomlx predict DIR          predicts with the networks given in DIR/mlp and DIR/cnn
//
// It is a module of its own, so that goestimator does not depend on GoMLX. What
// it reads and answers is described in bench/link.go, the files in DIR in
// bench/fixtures.go. BENCH_THREADS sets the threads.
package main
