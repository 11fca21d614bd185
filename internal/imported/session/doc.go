// Package session makes a model that can be served of a SavedModel's graph, our own or foreign.
//
// Load flattens the graph (package inline), restores the variables and runs the init ops once. A Run is planned by the
// names of its feeds and fetches: the nodes that it needs are sorted into stages, in turn eager and compiled. Strings,
// tables, sparse tensors and what updates variables are computed node by node by internal/imported/eager; what has numeric
// tensors of sizes linear in the batch becomes programs of internal/runtime/engine, one per shape of what enters the stage, as
// many at the same time as Options.MaxConcurrent allows, all on the same weights.
//
// Sizes are inferred (package infer) at two batch sizes and fitted by lines; before a program runs a batch of a size for
// the first time, its sizes are inferred again and compared. Where they are not linear, the program is for that size alone.
//
// What a model can do is decided at Load: an op that neither engine nor eager has makes Load fail, with all such named.
package session
