// Package engine compiles the intermediate representation (internal/compiler/graph) for one device and runs it.
//
// Compile keeps what the fetches and targets need, merges equal nodes, evaluates what depends on constants or on the
// batch size alone once, orders reads and writes of variables, and lays all values into one buffer by their
// lifetimes. Run takes any batch up to the program's capacity (a larger one grows it), allocates nothing in a steady
// step, and can be cancelled between kernels up to the first update of a variable: after it the run completes, so that
// a cancelled or failed run leaves the variables as they were.
//
// Compile also merges ops: products and convolutions take what follows them (bias, normalization by fixed statistics,
// addition, ReLU), batch normalization the addition and ReLU after it, elementwise ops that use each other become fusions:
// one pass over memory, with as many results as others read. On the host, operands may have one element for each row or each
// column, and a cheap result that a gradient needs long after is computed again rather than kept. Weights
// that a program only reads are packed for the kernels once, shared by all such programs, and packed again when
// Variables.Set or another program has changed them. Profiles name the parts of what is merged. With
// Options.CheckNumerics these stay apart, so that the node is named in which a NaN arises.
//
// The result is a plan: ops in order, the steps that compute them, and how they are divided. Five kinds of division exist.
// A step's frequency is once per compilation, once per batch size, or every run. The steps of a run are one phase, or several
// with the fetches that are complete after each (Options.OnFetch). On the host a phase is a list of parallel groups: mostly
// single steps that use all workers, one after the other; where an estimate of times says that it pays, small steps that do
// not depend on each other, one for each worker. On an accelerator it is a list of segments: steps that follow each other on
// the accelerator, launched as one, or on the host beside it. A fusion is elementwise ops that are one kernel, or one pass of
// the host. Memory is
// planned so that values used at the same time do not overlap; results are the same bits in any division.
//
// An executor does the plan, one for devices that run Go code and one for accelerators; Program is what both have in common:
// locking, cancellation, panics, results.
//
// Fetches can be read while a run goes on, each as soon as it is complete (Options.OnFetch), and be changed in place
// between runs (Options.OwnFetches): so are gradients exchanged with other workers while more are computed.
//
// On an Accelerator steps become operations, which it compiles once to kernels of its own. Values lie in one arena of the
// device, and a segment is one launch. What the accelerator has no kernel for runs on the host, its operands and results
// copied (Program.HostSteps), or is refused (Options.HardPlacement); what is computed once per batch size runs on the host
// anyway. A run can be cancelled up to the launch that holds the first update; kernels that find a fault keep later updates
// from happening. With Options.CheckNumerics or Options.Profile every step is launched and waited for by itself. Ahead
// brings a batch to the device while others run. Options.Precision lets products round their operands (TF32), or
// activations be bfloat16 (BF16Mixed).
//
// Effects: a ReadVariableOp sees the variable as it was at the start of the run unless a control edge puts it after a
// write. Writes of one variable that nothing orders happen in the order of the graph's nodes, as far as their inputs
// allow.
//
// The same program, feeds, thread count and SIMD level give bit-identical results. A row can differ by rounding from the
// same row in a batch of another size: products of one or two rows add up in another order than products of more.
package engine
