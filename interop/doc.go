// Package interop compares the framework with real peers: TensorFlow,
// TensorBoard, pyarrow and PyTorch. It only contains tests.
//
// A test passes values to a script in python/ and gets its verdict or values
// back, as .npy files in a folder (exchange_test.go, python/exchange.py). `make
// peers` installs the peers; PyTorch may also come from the
// system's python3. A test whose peer is not installed is skipped with a message.
// Programs for clusters (python/cluster_*.py) are listed in clusterCases; one
// process loads TensorFlow and forks a process for each of them.
// PyTorch's losses recorded in testdata are compared in every run.
package interop
