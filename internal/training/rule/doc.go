// Package rule holds the update rules of optimizers: how a variable and its
// state change by a gradient, as nodes of a graph. The built-in rules are
// TensorFlow's, by its ops that update in place; a Custom rule is a program of
// elementwise ops (models/expr), so a process that has never seen the rule's Go
// code can run it.
package rule
