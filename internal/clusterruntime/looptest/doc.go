// Package looptest draws programs with nested branches and loops, and builds them as graphs with TensorFlow 1's control flow. The
// results of such graphs are known, so executors and graph partitioning can be tested with them.
package looptest
