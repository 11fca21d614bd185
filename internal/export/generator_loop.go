package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/sampling"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"google.golang.org/protobuf/proto"
)

// The functions of the loop.
const (
	bodyFunction = generateName + "_body"
	condFunction = generateName + "_cond"
)

// loopValue is a loop variable: its initial value in the main graph, the argument of the body, and the body's result.
type loopValue struct{ first, arg, next graph.Output }

// values are the loop variables, in order.
type values []*loopValue

// loop adds the While that writes the texts, and returns ids [batch, longest].
func (w *generating) loop(r request, ids graph.Output) (graph.Output, error) {
	replace(usersOf(w.Graph, w.gen.Prefill.In[0]), w.gen.Prefill.In[0], ids)
	all := &values{}
	written := w.write(all, r)
	w.weights(all)
	if err := w.step.Err(); err != nil {
		return graph.Output{}, err
	}
	if err := w.functions(*all); err != nil {
		return graph.Output{}, err
	}
	var in []graph.Output
	var types []graph.Type
	var kinds []tensor.DType
	for _, v := range *all {
		in, types, kinds = append(in, v.first), append(types, v.arg.Type()), append(kinds, v.arg.DType())
	}
	loop := w.Node("While", generateName+"/While", types, graph.Attrs{"T": kinds, "cond": graph.Func{Name: condFunction}, "body": graph.Func{Name: bodyFunction},
		"parallel_iterations": int64(10)}, in...)
	return loop.Out(written), w.Err()
}

// add adds a loop variable with the initial value first. Its argument is arg, or a new one.
func (w *generating) add(all *values, first, arg graph.Output) *loopValue {
	if !arg.Valid() {
		arg = w.step.Placeholder(fmt.Sprintf("value_%d", len(*all)), first.Type())
	}
	v := &loopValue{first, arg, arg}
	*all = append(*all, v)
	return v
}

// write adds the loop variables for what changes and for the request, which makes the step a loop body. It returns the index of the written ids.
func (w *generating) write(all *values, r request) (at int) {
	b, zero, one := w.step, w.Scalar("loop/zero", tensor.Int32, 0), w.step.Scalar("loop/one", tensor.Int32, 1)
	count, limit := w.add(all, zero, graph.Output{}), w.add(all, r.longest, graph.Output{}) // the condition reads these two
	count.next = b.like("Add", "loop/count", tensor.Int32, count.arg, one)

	step := w.gen.Step
	token, position := w.add(all, w.lastToken(r), step.In[0]), w.add(all, r.last, step.In[1])
	next := b.like("AddV2", "loop/next", tensor.Int32, position.arg, one)
	position.next = b.like("Minimum", "loop/position", tensor.Int32, next, b.Scalar("loop/end", tensor.Int32, float64(w.gen.Context-1))) // finished rows stay at the end
	for i, first := range w.gen.Prefill.Out {
		w.add(all, first, step.In[i+2]).next = step.Out[i+1]
	}
	length := w.add(all, r.written, graph.Output{})
	length.next = b.like("AddV2", "loop/length", tensor.Int64, length.arg, b.Scalar("loop/one_more", tensor.Int64, 1))
	token.next = sampling.Emit(b.Builder, "sample", sampling.Operands{Logits: step.Out[0], Position: length.arg,
		Temperature: w.add(all, r.temperature, graph.Output{}).arg, TopK: w.add(all, r.topK, graph.Output{}).arg, Seed: w.add(all, r.seed, graph.Output{}).arg})

	at = len(*all)
	ids := w.add(all, w.blank(r), graph.Output{})
	ids.next = w.put(ids.arg, token.next, count.arg, limit.arg)
	return at
}

// lastToken returns the last token of each prompt, int32 [batch].
func (w *generating) lastToken(r request) graph.Output {
	ids := w.Graph.Node("prompt/ids").Out(0)
	at := w.Op("ExpandDims", "loop/last", ofRank(tensor.Int32, graph.Batch, graph.Fixed(1)), graph.Attrs{"T": tensor.Int32, "Tdim": tensor.Int32}, r.last, w.Scalar("loop/behind", tensor.Int32, 1))
	attrs := gathering(tensor.Int32)
	attrs["batch_dims"] = int64(1)
	token := w.Op("GatherV2", "loop/tokens", at.Type(), attrs, ids, at, w.Scalar("loop/along", tensor.Int32, 1))
	return w.Op("Squeeze", "loop/token", r.last.Type(), graph.Attrs{"T": tensor.Int32, "squeeze_dims": []int64{1}}, token)
}

// blank returns zeros [batch, longest].
func (w *generating) blank(r request) graph.Output {
	size := w.Op("Shape", "loop/rows", graph.TypeOf(tensor.Int32, 1), graph.Attrs{"T": tensor.Int32, "out_type": tensor.Int32}, r.length)
	wide := w.Op("ExpandDims", "loop/columns", graph.TypeOf(tensor.Int32, 1), graph.Attrs{"T": tensor.Int32, "Tdim": tensor.Int32}, r.longest, w.Scalar("loop/first", tensor.Int32, 0))
	dims := w.Op("ConcatV2", "loop/size", graph.TypeOf(tensor.Int32, 2), graph.Attrs{"N": int64(2), "T": tensor.Int32, "Tidx": tensor.Int32}, size, wide, w.Scalar("loop/joined", tensor.Int32, 0))
	return w.Op("Fill", "loop/blank", ofRank(tensor.Int32, graph.Batch, graph.Unknown), graph.Attrs{"T": tensor.Int32, "index_type": tensor.Int32}, dims, w.Scalar("loop/none", tensor.Int32, 0))
}

// put writes tokens [batch] to a column of ids [batch, limit].
func (w *generating) put(ids, tokens, column, limit graph.Output) graph.Output {
	b := w.step
	zero := b.Scalar("put/zero", tensor.Int32, 0)
	columns := b.Op("Range", "put/columns", vector(tensor.Int32), graph.Attrs{"Tidx": tensor.Int32}, zero, limit, b.Scalar("put/one", tensor.Int32, 1))
	here := b.like("Equal", "put/here", tensor.Bool, columns, column)
	each := b.Op("ExpandDims", "put/tokens", ofRank(tensor.Int32, graph.Batch, graph.Fixed(1)), graph.Attrs{"T": tensor.Int32, "Tdim": tensor.Int32}, tokens, b.Scalar("put/behind", tensor.Int32, 1))
	return b.Op("SelectV2", "put/ids", ids.Type(), graph.Attrs{"T": tensor.Int32}, here, each, ids)
}

// weights turns the variables that the step reads into arguments: the main graph reads each once.
func (w *generating) weights(all *values) {
	for _, n := range w.step.Graph.Nodes() {
		if n.Op != "ReadVariableOp" {
			continue
		}
		t, handle := n.Outputs[0], n.Inputs[0].Node
		name := handle.Str("shared_name")
		if name == "" {
			name = handle.Name
		}
		v := w.add(all, w.Read(w.Variable(name, t), t), graph.Output{})
		replace(usersOf(w.step.Graph, n.Out(0)), n.Out(0), v.arg)
		for _, other := range *all {
			if other.next == n.Out(0) {
				other.next = v.arg
			}
		}
	}
}

// functions adds the loop's functions to the library of the main graph.
func (w *generating) functions(all values) error {
	var next []graph.Output
	for _, v := range all {
		next = append(next, v.next)
	}
	body, err := w.function(w.step, bodyFunction, all, next)
	if err != nil {
		return err
	}
	test := emitter{graph.NewBuilder(graph.New())}
	var args values
	for i, v := range all {
		args = append(args, &loopValue{arg: test.Placeholder(fmt.Sprintf("value_%d", i), v.arg.Type())})
	}
	more := test.like("Less", "more", tensor.Bool, args[0].arg, args[1].arg)
	cond, err := w.function(test, condFunction, args, []graph.Output{more})
	if err != nil {
		return err
	}
	library := &function_go_proto.FunctionDefLibrary{Function: []*function_go_proto.FunctionDef{cond, body}}
	w.library, err = proto.MarshalOptions{Deterministic: true}.Marshal(library)
	return err
}

// function converts a graph to a function of the arguments of values.
func (w *generating) function(e emitter, name string, all values, results []graph.Output) (*function_go_proto.FunctionDef, error) {
	end := e.Node("NoOp", "end", nil, nil, results...)
	if err := e.Err(); err != nil {
		return nil, err
	}
	keep := []*graph.Node{end}
	for _, v := range all {
		keep = append(keep, v.arg.Node)
	}
	pruned := graph.Prune(e.Graph, keep...)
	f := graphdef.Function{Name: name, Ends: []*graph.Node{pruned.Node(end.Name)}}
	for _, v := range all {
		f.Args = append(f.Args, pruned.Node(v.arg.Node.Name))
	}
	sorted, err := graph.Sort(pruned)
	if err != nil {
		return nil, err
	}
	g := graph.New()
	for _, n := range sorted {
		n.Name, n.Device = g.UniqueName(nodeName(n.Name)), ""
		if err := g.Add(n); err != nil {
			return nil, err
		}
	}
	return graphdef.ToFunctionDef(g, f)
}
