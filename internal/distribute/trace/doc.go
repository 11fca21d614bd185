// Package trace makes graphs of what functions build: it runs a function at two
// batch sizes, translates the nodes that were asked for, and unifies both graphs
// into one whose batch is symbolic.
//
// A Tracing is one building. Its owner adds the roots that it needs, each with the
// place that its output goes to, and lowers them; Unify then moves the places of one
// Tracing to the graph of both.
package trace
