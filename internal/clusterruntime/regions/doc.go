// Package regions replaces connected sets of numeric nodes of a graph by one node each, which is a program of the engine.
//
// Nodes belong to one region if they depend on the same other work: the same tensors from other tasks, the same ops that may wait, and the
// same number of alternations between numeric and other nodes. So a region waits for nothing that any of its nodes would not wait for, all
// of its nodes are dead if one is, and no cycles arise. Variables, other state, control flow and strings still run op by op.
//
// A region runs op by op until it has seen inputs of the same sizes a few times, and always if its program cannot be compiled. Package
// session decides which parts of it are compiled, and for which sizes.
package regions
