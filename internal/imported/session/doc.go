// Package session makes a servable model of a SavedModel's graph, whether we or others wrote it.
//
// Load flattens the graph (package inline), restores the variables and runs the init ops once. A Run is planned by the
// names of its feeds and fetches: the nodes that it needs are sorted into stages, alternately eager and compiled. Strings,
// tables, sparse tensors and updates of variables are computed node by node by internal/imported/eager. Numeric tensors whose
// sizes are linear in the batch are computed by programs of internal/runtime/engine: one per shape of the stage's inputs, up to
// Options.MaxConcurrent of them at the same time, all on the same weights.
//
// Sizes are inferred (package infer) at two batch sizes and fitted by lines. Before a program first runs a batch of some size,
// its sizes are inferred again and compared. Where they are not linear, the program is for that size alone.
//
// Load decides what a model can do: it fails if neither engine nor eager has an op, and names all such ops.
package session
