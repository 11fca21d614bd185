// Package graph is the intermediate representation that everything else reads:
// nodes with TensorFlow op names and attributes, several outputs, control
// edges, resources (variables), data types and shapes whose dimensions may
// depend linearly on the batch size.
//
// Graphs come from lowering Gorgonia expressions (internal/compiler/lower), from
// GraphDefs (internal/format/graphdef) or from a Builder; they are compiled and run by
// internal/runtime/engine.
//
// A model is built at two batch sizes, and Unify finds the dimensions that
// depend on the batch by comparing the two graphs. Prune, Clone, Sort and Validate
// work on any graph.
package graph
