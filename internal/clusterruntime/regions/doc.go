// Package regions makes connected sets of numeric nodes of a graph one node each, which is a program of the engine.
//
// Nodes are of one region when they depend on the same other work: on the same tensors of other tasks and the same ops that may wait, and on as many
// turns of state and numbers. So a region waits for nothing that any of its nodes would not wait for, all of its
// nodes are dead where one is, and no cycle comes about. Variables, other state, control flow and strings stay op by op.
//
// A region runs op by op until it has seen inputs of the same sizes a few times, and where its program cannot be compiled. Which parts of it are
// compiled, and for which sizes, package session decides.
package regions
