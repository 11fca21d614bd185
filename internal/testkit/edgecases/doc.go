// Package edgecases compares ops with TensorFlow at edge cases: zeros of both signs, ties,
// infinities, NaN, numbers too small or too large.
//
// A test makes Cases: a graph, or the name of a function of interop/python/edge_cases.py, with its
// feeds, and the feeds to differentiate for. TensorFlow's answers are recorded in a file beside
// the test, and go test compares with them. With the flag -edge-cases, it asks TensorFlow (make
// peers) for answers that are not in the file. The tests of interop ask for all of them again.
package edgecases
