// Package rule holds the update rules of optimizers: how a gradient changes a variable and its
// state, as nodes of a graph. The built-in rules are
// TensorFlow's, with its ops that update in place; a Custom rule is a program of
// elementwise ops (models/expr), so a process without the rule's Go
// code can run it.
package rule
