// Package interop compares the framework with the real peers: TensorFlow,
// TensorBoard, pyarrow and PyTorch. It has tests alone.
//
// A test hands values to a script in python/ and takes its verdict or values
// back, as .npy files in a folder (exchange_test.go, python/exchange.py). Peers
// come from the environment that `make peers` makes, PyTorch also from the
// system's python3; a test whose peer is not installed is skipped, saying so.
// Programs of clusters (python/cluster_*.py) are listed in clusterCases; one
// process loads TensorFlow and forks another for each of them.
// The losses of PyTorch recorded in testdata are compared in every run.
package interop
