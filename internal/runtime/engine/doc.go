// Package engine compiles the intermediate representation (internal/compiler/graph) for one device and runs it.
//
// Compile keeps only what the fetches and targets need, merges equal nodes, evaluates nodes that depend only on constants
// or the batch size once, orders reads and writes of variables, and places all values in one buffer by their lifetimes.
// Run takes any batch up to the program's capacity (a larger one grows it) and allocates nothing in a steady step. It can
// be cancelled between kernels until the first update of a variable. From then on the run completes, so that a cancelled
// or failed run leaves the variables as they were.
//
// Compile also merges ops. Products and convolutions absorb the ops that follow them (bias, normalization by fixed
// statistics, addition, ReLU), and batch normalization the addition and ReLU after it. Elementwise ops that use each other
// become fusions: one pass over memory, with all the results that other ops read. On the host, operands may have one element
// for each row or each column, and a cheap result that a gradient needs much later is recomputed rather than kept. Weights
// that a program only reads are packed for the kernels once, shared by all such programs, and packed again after
// Variables.Set or another program has changed them. Profiles name the parts of merged ops. With Options.CheckNumerics, ops
// are not merged, so that an error names the node in which a NaN arises.
//
// The result is a plan: ops in order, the steps that compute them, and how they are divided. There are five divisions.
// A step's frequency is once per compilation, once per batch size, or every run. The steps of a run are one phase, or several
// phases, each followed by the fetches that are complete by then (Options.OnFetch). On the host a phase is a list of parallel
// groups. Most groups are a single step that uses all workers. Where estimated times say that it pays, a group is small steps
// that do not depend on each other, one for each worker. On an accelerator a phase is a list of segments: consecutive steps
// on the accelerator, launched as one, or on the host beside it. A fusion is elementwise ops in one kernel, or one pass on the
// host. Memory is planned so that values used at the same time do not overlap. All divisions give bit-identical results.
//
// An executor executes the plan: there is one for devices that run Go code and one for accelerators. Program does what both
// have in common: locking, cancellation, panics, results.
//
// Each fetch can be read during the run, as soon as it is complete (Options.OnFetch), and changed in place until the next
// run (Options.OwnFetches). Gradients are exchanged with other workers this way while more are computed.
//
// On an Accelerator steps become operations, which it compiles once to kernels of its own. Values lie in one arena of the
// device, and a segment is one launch. Steps without a kernel run on the host, with their operands and results copied
// (Program.HostSteps), or are refused (Options.HardPlacement). Steps that run once per batch size run on the host anyway. A
// run can be cancelled until the launch with the first update; kernels that find a fault prevent later updates. With
// Options.CheckNumerics or Options.Profile every step is launched and waited for by itself. Ahead brings a batch to the
// device while others run. Options.Precision lets products round their operands (TF32), or activations be bfloat16
// (BF16Mixed).
//
// Effects: a ReadVariableOp sees the variable as it was at the start of the run unless a control edge puts it after a
// write. Unordered writes of a variable happen in the order of the graph's nodes, as far as their inputs allow.
//
// The same program, feeds, thread count and SIMD level give bit-identical results. A row can differ by rounding from the
// same row in a batch of another size: products of one or two rows sum in another order than products of more rows.
package engine
