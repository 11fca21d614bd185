package dataflow

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// role is the part that a node plays in a run.
type role uint8

const (
	ordinary role = iota
	forward       // passes on its input: LoopCond
	branch        // Switch
	merge
	enter
	exit
	next    // NextIteration
	trigger // ControlTrigger: runs even if its inputs are dead
	send
	recv
	arg    // _Arg: outputs an argument of the step
	retval // _Retval: takes a result of the step
)

// roles are the ops that are not kernels. The Ref forms carry references to variables.
var roles = map[string]role{
	"LoopCond": forward, "Switch": branch, "RefSwitch": branch, "_SwitchN": branch, "Merge": merge, "RefMerge": merge,
	"Enter": enter, "RefEnter": enter, "Exit": exit, "RefExit": exit, "NextIteration": next, "RefNextIteration": next,
	"ControlTrigger": trigger, "_Send": send, "_HostSend": send, "_Recv": recv, "_HostRecv": recv,
	"_Arg": arg, "_Retval": retval,
}

// arity is the number of inputs for each role, -1 for at least one.
var arity = map[role]int{forward: 1, branch: 2, merge: -1, enter: 1, exit: 1, next: 1, trigger: 0, send: 1, recv: 0, arg: 0, retval: 1}

// keyIn returns the key of a _Send or _Recv in an iteration.
func (n *node) keyIn(it *iteration) rendezvous.Key {
	if it.frame.parent == nil {
		return n.key
	}
	return n.key.In(it.name())
}

// resolve finds the kernel or role of the node. A random op continues from the states in random.
func (n *node) resolve(source *graph.Node, random *eager.Generators) (err error) {
	n.source, n.role, n.outputs = source, roles[source.Op], len(source.Outputs)
	if n.role != ordinary {
		return n.structure()
	}
	if k, ok := source.Attrs[regions.Kernel].(eager.Kernel); ok && source.Op == regions.Op { // no message can contain it
		n.kernel, n.reads, n.stops = k, valuesOf(source), true
		return nil
	}
	if t, ok := source.Attrs["value"].(*tensor.Tensor); ok && source.Op == "Const" {
		n.kernel = func(_ context.Context, _ *eager.Env, _, out []eager.Value) error {
			out[0] = eager.Value{T: t}
			return nil
		}
		n.outputs = 1
		return nil
	}
	if n.kernel, err = random.Prepare(source); err != nil {
		return err
	}
	if n.outputs, err = eager.Outputs(source); err != nil {
		return err
	}
	n.outputs = max(n.outputs, len(source.Outputs))
	n.blocks = blocking[source.Op]
	n.reads = valuesOf(source)
	return nil
}

// structure checks a node that is not a kernel.
func (n *node) structure() error {
	want := arity[n.role]
	if got := len(n.source.Inputs); got != want && (want >= 0 || got == 0) {
		return fmt.Errorf("node %q (%s): expected %d inputs, got %d", n.source.Name, n.source.Op, max(want, 1), got)
	}
	switch n.role {
	case branch, merge:
		n.outputs = 2
		if n.source.Op == "_SwitchN" {
			n.outputs = len(n.source.Outputs)
		}
	case trigger, send, retval:
		n.outputs = 0
	default:
		n.outputs = 1
	}
	if got := len(n.source.Outputs); got > n.outputs {
		return fmt.Errorf("node %q (%s): expected %d outputs, got %d", n.source.Name, n.source.Op, n.outputs, got)
	}
	n.constant = n.source.Bool("is_constant")
	n.number = n.source.Int("index", 0)
	n.blocks = n.role == recv
	if n.role == send || n.role == recv {
		n.key = rendezvous.Key{From: n.source.Str("send_device"), Incarnation: uint64(n.source.Int("send_device_incarnation", 0)),
			To: n.source.Str("recv_device"), Edge: n.source.Str("tensor_name")}.In(rendezvous.Outside)
	}
	n.reads = valuesOf(n.source)
	return nil
}

// valuesOf reports which inputs that are references to variables are used as values: they are read when the node runs.
func valuesOf(source *graph.Node) []bool {
	def := ops.Find(source.Op)
	var reads []bool
	for i, in := range source.Inputs {
		from := ops.Find(in.Node.Op)
		if from == nil || !from.OutputAt(in.Index, len(in.Node.Outputs)).Ref || def != nil && def.InputAt(i, len(source.Inputs)).Ref {
			continue
		}
		if reads == nil {
			reads = make([]bool, len(source.Inputs))
		}
		reads[i] = true
	}
	return reads
}

// Waits reports whether a node may wait for other nodes, tasks or steps. A _Recv with the attribute _early receives a value that
// depends only on variables of another task, or is fed before the run, and is never dead: it arrives soon.
func Waits(n *graph.Node) bool {
	return blocking[n.Op] || roles[n.Op] == recv && !n.Bool("_early")
}

// blocking are the ops that may wait for other nodes or steps.
var blocking = map[string]bool{
	"QueueEnqueue": true, "QueueEnqueueMany": true, "QueueDequeue": true, "QueueDequeueMany": true, "QueueDequeueUpTo": true, "QueueClose": true,
	"QueueEnqueueV2": true, "QueueEnqueueManyV2": true, "QueueDequeueV2": true, "QueueDequeueManyV2": true, "QueueDequeueUpToV2": true, "QueueCloseV2": true,
	"IteratorGetNext": true, "IteratorGetNextSync": true, "IteratorGetNextAsOptional": true, "MakeIterator": true, "OneShotIterator": true, "ReduceDataset": true, "DatasetToSingleElement": true,
	"MultiDeviceIteratorInit": true, "MultiDeviceIteratorGetNextFromShard": true,
	"ReaderRead": true, "ReaderReadV2": true, "ReaderReadUpTo": true, "ReaderReadUpToV2": true,
	"BarrierTakeMany": true, "Stage": true, "Unstage": true, "StagePeek": true, "MapStage": true, "MapUnstage": true, "MapPeek": true, "MapUnstageNoKey": true,
	"OrderedMapStage": true, "OrderedMapUnstage": true, "OrderedMapPeek": true, "OrderedMapUnstageNoKey": true,
	"AccumulatorTakeGradient": true, "ResourceAccumulatorTakeGradient": true, "SparseAccumulatorTakeGradient": true,
	"If": true, "Case": true, "While": true, "RemoteCall": true, // their functions may have these ops
}
