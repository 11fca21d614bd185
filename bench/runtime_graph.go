package main

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Sizes of the variables: one of 100 MB, a hundred of 1 MB, a table of 64 MB.
const (
	denseRows, denseWidth   = 25_000, 1000
	smallVariables          = 100
	smallElements           = 250_000
	sharedRows, sharedWidth = 1_000_000, 16
	runtimeIDs              = 20_480 // ids in a step
	runtimeRepeats          = 2      // how often each id occurs
	tableStep               = 0.5    // gradient, and learning rate
)

const onWorker, onServer = "/job:worker/task:0", "/job:ps/task:0"

// runtimeStep is the feed and fetches of a step.
type runtimeStep struct {
	feed    string // is fed 41; "": no feed
	fetches []string
	targets []string
}

// runtimeSteps are the steps of the cases.
var runtimeSteps = map[string]runtimeStep{
	runtimeStep1:     {feed: "x:0", fetches: []string{"near:0"}},
	runtimeStep2:     {feed: "x:0", fetches: []string{"far:0"}},
	runtimePull:      {targets: []string{"pull"}},
	runtimePush:      {targets: []string{"push"}},
	runtimePullMany:  {targets: []string{"pull_many"}},
	runtimePushMany:  {targets: []string{"push_many"}},
	runtimeFetch:     {fetches: []string{"big/read:0"}},
	runtimeGather:    {targets: []string{"gather"}},
	runtimeScatter:   {targets: []string{"scatter"}},
	runtimeAdagrad:   {targets: []string{"adagrad"}},
	runtimeEmbedding: {targets: []string{"embedding"}},
}

// runtimeGraph builds the graph of all cases.
type runtimeGraph struct {
	*graph.Builder
	starts []*graph.Node // nodes that initialize variables
}

// buildRuntime returns the graph. Its node init initializes all variables.
func buildRuntime() (*graph.Graph, error) {
	b := &runtimeGraph{Builder: graph.NewBuilder(graph.New())}
	x := b.at(onWorker, b.Placeholder("x", graph.TypeOf(tensor.Float32)))
	for name, device := range map[string]string{"near": onWorker, "far": onServer} {
		one := b.at(device, b.Const(name+"/one", tensor.Scalar(float32(1))))
		b.at(device, b.Op("AddV2", name, graph.TypeOf(tensor.Float32), graph.Attrs{"T": tensor.Float32}, x, one))
	}
	b.dense()
	b.many()
	b.table()
	init := b.Node("NoOp", "init", nil, nil)
	init.Control, init.Device = b.starts, onWorker
	return b.Graph, b.Err()
}

// at places the node of an output on a device.
func (b *runtimeGraph) at(device string, o graph.Output) graph.Output {
	if o.Node != nil {
		o.Node.Device = device
	}
	return o
}

// target adds a node of that name that runs after others.
func (b *runtimeGraph) target(name, device string, after ...*graph.Node) {
	n := b.Node("NoOp", name, nil, nil)
	n.Control, n.Device = after, device
}

// variable adds a variable with equal initial elements; read is its value, on its device.
func (b *runtimeGraph) variable(name, device string, first float32, shape ...int) (v, read graph.Output) {
	t := graph.TypeOf(tensor.Float32, shape...)
	v = b.at(device, b.Variable(name, t))
	size := tensor.New(tensor.Int32, len(shape))
	for i, d := range shape {
		tensor.Values[int32](size)[i] = int32(d)
	}
	dims, value := b.at(device, b.Const(name+"/shape", size)), b.at(device, b.Const(name+"/first", tensor.Scalar(first)))
	fill := b.at(device, b.Op("Fill", name+"/fill", t, graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int32}, dims, value))
	b.starts = append(b.starts, b.on(device, "AssignVariableOp", name+"/assign", graph.Attrs{"dtype": tensor.Float32}, v, fill))
	return v, b.at(device, b.Op("ReadVariableOp", name+"/read", t, graph.Attrs{"dtype": tensor.Float32}, v))
}

// on adds a node without outputs on a device.
func (b *runtimeGraph) on(device, op, name string, attrs graph.Attrs, in ...graph.Output) *graph.Node {
	n := b.Node(op, name, nil, attrs, in...)
	n.Device = device
	return n
}

// pulled adds a node that copies a value to the worker.
func (b *runtimeGraph) pulled(name string, value graph.Output) *graph.Node {
	return b.at(onWorker, b.Op("Identity", name, value.Type(), graph.Attrs{"T": tensor.Float32}, value)).Node
}

// dense adds a variable on the server, and on the worker the gradient that is added to it.
func (b *runtimeGraph) dense() {
	big, read := b.variable("big", onServer, 1, denseRows, denseWidth)
	_, gradient := b.variable("gradient", onWorker, 1, denseRows, denseWidth)
	b.target("pull", onWorker, b.pulled("big/pulled", read))
	b.target("push", onServer, b.on(onServer, "AssignAddVariableOp", "big/add", graph.Attrs{"dtype": tensor.Float32}, big, gradient))
}

func (b *runtimeGraph) many() {
	var pulls, pushes []*graph.Node
	for i := range smallVariables {
		name := fmt.Sprint("small", i)
		v, read := b.variable(name, onServer, 1, smallElements)
		_, gradient := b.variable(fmt.Sprint("gradient", i), onWorker, 1, smallElements)
		pulls = append(pulls, b.pulled(name+"/pulled", read))
		pushes = append(pushes, b.on(onServer, "AssignAddVariableOp", name+"/add", graph.Attrs{"dtype": tensor.Float32}, v, gradient))
	}
	b.target("pull_many", onWorker, pulls...)
	b.target("push_many", onServer, pushes...)
}

// table adds an embedding on the server. The worker has the ids and the updates of a step.
func (b *runtimeGraph) table() {
	table, _ := b.variable("table", onServer, 0, sharedRows, sharedWidth)
	slot, _ := b.variable("slot", onServer, 0.1, sharedRows, sharedWidth)
	_, updates := b.variable("updates", onWorker, tableStep, runtimeIDs, sharedWidth)
	ids := tensor.New(tensor.Int64, runtimeIDs)
	for i := range tensor.Values[int64](ids) { // each id occurs runtimeRepeats times, spread over the table
		tensor.Values[int64](ids)[i] = int64(i % (runtimeIDs / runtimeRepeats) * 7919 % sharedRows)
	}
	index := b.at(onWorker, b.Const("ids", ids))
	gathering := graph.Attrs{"dtype": tensor.Float32, "Tindices": tensor.Int64, "batch_dims": int64(0), "validate_indices": true}
	rows := b.at(onServer, b.Op("ResourceGather", "rows", graph.TypeOf(tensor.Float32, runtimeIDs, sharedWidth), gathering, table, index))
	// Assign the rows, since TensorFlow prunes a gather whose output is not used.
	gathered, _ := b.variable("gathered", onWorker, 0, runtimeIDs, sharedWidth)
	b.target("gather", onWorker, b.on(onWorker, "AssignVariableOp", "rows/gathered", graph.Attrs{"dtype": tensor.Float32}, gathered, rows))
	scatter := graph.Attrs{"dtype": tensor.Float32, "Tindices": tensor.Int64}
	b.target("scatter", onServer, b.on(onServer, "ResourceScatterAdd", "table/scatter", scatter, table, index, updates))
	b.target("adagrad", onServer, b.adagrad("table/adagrad", table, slot, updates, index))
	half := b.at(onWorker, b.Const("half", tensor.Scalar(float32(tableStep))))
	gradient := b.at(onWorker, b.Op("Mul", "rows/gradient", rows.Type(), graph.Attrs{"T": tensor.Float32}, rows, half))
	b.target("embedding", onServer, b.adagrad("table/learn", table, slot, gradient, index))
}

func (b *runtimeGraph) adagrad(name string, table, slot, gradient, index graph.Output) *graph.Node {
	rate := b.at(onServer, b.Const(name+"/rate", tensor.Scalar(float32(tableStep))))
	return b.on(onServer, "ResourceSparseApplyAdagrad", name, graph.Attrs{"T": tensor.Float32, "Tindices": tensor.Int64, "use_locking": true, "update_slots": true},
		table, slot, rate, gradient, index)
}
