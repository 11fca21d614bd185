// Command gomlx is a worker of the bench command. It runs a subject with
// GoMLX and its Go backend:
//
//	gomlx train DIR            trains the mlp given in DIR
//	gomlx train_by_hand DIR    the same with gradients written as products
//	gomlx predict DIR          predicts with the networks given in DIR/mlp and DIR/cnn
//
// It is a separate module, so that goestimator does not depend on GoMLX. Its
// protocol is described in bench/link.go, the files in DIR in
// bench/fixtures.go. BENCH_THREADS sets the threads.
package main
