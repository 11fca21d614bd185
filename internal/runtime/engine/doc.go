// Package engine compiles the intermediate representation (internal/compiler/graph) for one device and runs it.
//
// Compile keeps what the fetches and targets need, merges equal nodes, evaluates what depends on constants or on the
// batch size alone once, orders reads and writes of variables, and lays all values into one buffer by their
// lifetimes. Run takes any batch up to the program's capacity (a larger one grows it), allocates nothing in a steady
// step, and can be cancelled between kernels up to the first update of a variable: after it the run completes, so that
// a cancelled or failed run leaves the variables as they were.
//
// Compile also merges ops: products and convolutions take what follows them (bias, normalization by fixed statistics,
// addition, ReLU), batch normalization the addition and ReLU after it, chains of elementwise ops become one pass. Weights
// that a program only reads are packed for the kernels once, shared by all such programs, and packed again when
// Variables.Set or another program has changed them. Profiles name the parts of what is merged. With
// Options.CheckNumerics chains stay apart, so that the node is named in which a NaN arises.
//
// Steps run one after the other, each on all workers. Steps that are too small for that and do not depend on each other
// form parallel groups, where an estimate of their times says that it pays: the workers then take one each. Memory is planned
// so that what a parallel group uses does not overlap, and results are the same bits.
//
// Fetches can be read while a run goes on, each as soon as it is complete (Options.OnFetch), and be changed in place
// between runs (Options.OwnFetches): so are gradients exchanged with other workers while more are computed.
//
// On an Accelerator a program is a list of operations, lowered once to kernels of its own. Elementwise ops that use each
// other become fusions, one kernel each; values lie in one arena of the device, and the steps between two points at which
// the host is needed are one launch. What the accelerator has no kernel for runs on the host, its operands and results
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
// same row in a batch of another size: products of one or two rows add up in another order than those of more.
package engine
