// Package trace makes graphs from functions: it runs a function at two batch sizes,
// translates the requested nodes, and unifies the two graphs into one with a symbolic
// batch.
//
// A Tracing is one build. Its owner adds the roots that it needs, each with a pointer to
// where its output is stored, and lowers them. Unify then sets these outputs of one
// Tracing to outputs of the unified graph.
package trace
