// Package kinks holds what tests compare with TensorFlow where functions have kinks: at zeros of both signs, ties,
// infinities, NaN, numbers too small or too large.
//
// A test makes Cases: a graph, or the name of a function of interop/python/kinks.py, what it is fed, and by which feeds it
// is differentiated. What TensorFlow gives for them is recorded in a file beside the test, which go test compares with; with
// the flag -kinks it asks TensorFlow (make peers) for what the file does not have. The tests of interop ask it again.
package kinks
