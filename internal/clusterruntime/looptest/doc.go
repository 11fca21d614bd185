// Package looptest draws programs with branches and loops in each other, and builds them as graphs of TensorFlow 1's control flow:
// what such a graph computes is known, so that executors and what divides graphs can be tested.
package looptest
