package eager

import (
	"crypto/rand"
	"fmt"
	"maps"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/protobuf/proto"
)

// datasetFromGraph runs a graph that describes a dataset, as DatasetToGraph makes it.
func datasetFromGraph(c call) error {
	def, err := text("graph_def", c.t(0))
	if err != nil {
		return err
	}
	if c.env == nil || c.env.Graph == nil {
		return fmt.Errorf("a dataset of a graph is %w here", ErrUnsupported)
	}
	v, err := c.env.Graph(c.ctx, c.env, def)
	if err != nil {
		return err
	}
	if _, ok := v.Resource.(dataset.Dataset); !ok {
		return fmt.Errorf("graph_def: expected that the graph returns a dataset")
	}
	c.out[0] = v
	return nil
}

// datasetToGraph describes a dataset by a serialized GraphDef, whose _Retval node takes the dataset. A dataset made from it has its own
// order, caches and tables.
func datasetToGraph(c call) error {
	w := graphWriter{g: graph.New(), made: map[any]graph.Output{}, callers: map[string]map[string]*Function{}, functions: map[*Function]string{}, left: c.env.limit()}
	d, err := w.value(c.in[0])
	if err != nil {
		return err
	}
	if err := w.g.Add(&graph.Node{Name: "dataset", Op: "_Retval", Inputs: []graph.Output{d}, Attrs: graph.Attrs{"T": tensor.Variant, "index": int64(0)}}); err != nil {
		return err
	}
	gd, err := w.graphDef()
	if err != nil {
		return err
	}
	if err := c.room(proto.Size(gd), 1); err != nil {
		return err
	}
	b, err := proto.Marshal(gd)
	c.set(0, textScalar(string(b)))
	return err
}

// graphWriter makes nodes that produce given values.
type graphWriter struct {
	g       *graph.Graph
	made    map[any]graph.Output            // by tensor or resource
	callers map[string]map[string]*Function // by node: the functions that its attributes name
	depth   int                             // nesting depth of datasets
	left    int                             // bytes left

	functions map[*Function]string // names in library
	library   []*function_go_proto.FunctionDef
}

// maxDescribed bounds the nesting of datasets.
const maxDescribed = 10_000

// value returns an output that has a value.
func (w *graphWriter) value(v Value) (o graph.Output, err error) {
	if v.T != nil {
		return w.once(v.T, func() (graph.Output, error) { return w.constant(v.T) })
	}
	switch r := v.Resource.(type) {
	case *described:
		return w.once(r, func() (graph.Output, error) { return w.dataset(r) })
	case *Table:
		return w.once(r, func() (graph.Output, error) { return w.table(r) })
	case *dataset.Memory:
		return w.node("DummyMemoryCache", nil)
	case *dataset.Seeds, noSeeds:
		return w.node("DummySeedGenerator", nil)
	}
	return o, fmt.Errorf("a dataset that depends on a %T cannot be described", v.Resource)
}

// once makes an output unless it exists.
func (w *graphWriter) once(key any, produce func() (graph.Output, error)) (graph.Output, error) {
	if o, ok := w.made[key]; ok {
		return o, nil
	}
	o, err := produce()
	w.made[key] = o
	return o, err
}

// node adds a node with one output.
func (w *graphWriter) node(op string, attrs graph.Attrs, in ...graph.Output) (graph.Output, error) {
	n := &graph.Node{Name: fmt.Sprintf("%s_%d", op, len(w.g.Nodes())), Op: op, Attrs: attrs, Inputs: in, Outputs: []graph.Type{{}}}
	return n.Out(0), w.g.Add(n)
}

// constant adds a tensor.
func (w *graphWriter) constant(t *tensor.Tensor) (graph.Output, error) {
	if err := w.take(t.MemoryBytes()); err != nil {
		return graph.Output{}, err
	}
	return w.node("Const", graph.Attrs{"dtype": t.DType, "value": t})
}

// take counts bytes of the description.
func (w *graphWriter) take(n int) error {
	if w.left -= n; w.left < 0 {
		return fmt.Errorf("%w: the description of a dataset", ErrLimit)
	}
	return nil
}

// dataset adds a dataset and everything that it is made from.
func (w *graphWriter) dataset(d *described) (o graph.Output, err error) {
	if w.depth++; w.depth > maxDescribed {
		return o, fmt.Errorf("%w: more than %d datasets, one in another", ErrLimit, maxDescribed)
	}
	defer func() { w.depth-- }()
	in := make([]graph.Output, len(d.in))
	for i, v := range d.in {
		if in[i], err = w.value(v); err != nil {
			return o, err
		}
	}
	attrs := maps.Clone(d.node.Attrs)
	maps.DeleteFunc(attrs, func(name string, _ any) bool { return strings.HasPrefix(name, "_") }) // they describe the node's original place
	if o, err = w.node(d.node.Op, attrs, in...); err == nil {
		w.callers[o.Node.Name] = d.functions
	}
	return o, err
}

// table adds a table with the same content.
func (w *graphWriter) table(t *Table) (o graph.Output, err error) {
	d, err := t.content()
	if err != nil {
		return o, err
	}
	makes, fills := "AnonymousHashTable", "InitializeTableV2"
	attrs := graph.Attrs{"key_dtype": t.key, "value_dtype": t.value}
	if t.mutable {
		makes, fills = "AnonymousMutableHashTableOfTensors", "LookupTableImportV2"
		attrs["value_shape"] = graph.ShapeOf(t.shape...)
	}
	handle, err := w.node(makes, attrs)
	if d == nil || err != nil {
		return handle, err
	}
	keys, err := t.keyTensor(d)
	if err != nil {
		return o, err
	}
	k, err := w.constant(keys)
	if err != nil {
		return o, err
	}
	v, err := w.constant(d.values)
	if err != nil {
		return o, err
	}
	fill := &graph.Node{Name: fmt.Sprintf("%s_%d", fills, len(w.g.Nodes())), Op: fills, Inputs: []graph.Output{handle, k, v}, Attrs: graph.Attrs{"Tkey": t.key, "Tval": t.value}}
	if t.mutable {
		fill.Attrs = graph.Attrs{"Tin": t.key, "Tout": t.value}
	}
	if err := w.g.Add(fill); err != nil {
		return o, err
	}
	o, err = w.node("Identity", graph.Attrs{"T": tensor.Resource}, handle)
	o.Node.Control = []*graph.Node{fill}
	return o, err
}

// graphDef returns the graph with the functions that it calls.
func (w *graphWriter) graphDef() (*graph_go_proto.GraphDef, error) {
	gd, err := graphdef.ToGraphDef(w.g)
	if err != nil {
		return nil, err
	}
	for _, n := range gd.GetNode() {
		if err := w.rename(n, w.callers[n.GetName()]); err != nil {
			return nil, err
		}
	}
	gd.Library = &function_go_proto.FunctionDefLibrary{Function: w.library}
	return gd, nil
}

// rename makes a node refer to functions of the library, and adds these to it.
func (w *graphWriter) rename(n *node_def_go_proto.NodeDef, functions map[string]*Function) (err error) {
	for _, a := range n.GetAttr() {
		for _, f := range append(a.GetList().GetFunc(), a.GetFunc()) {
			if f == nil {
				continue
			}
			if f.Name, err = w.function(f.GetName(), functions); err != nil {
				return err
			}
		}
	}
	return nil
}

// function adds a function, and the functions that it calls, to the library, and returns its name there.
func (w *graphWriter) function(name string, functions map[string]*Function) (string, error) {
	f := functions[name]
	if f == nil {
		return "", fmt.Errorf("function %q: there is none", name)
	}
	if name, ok := w.functions[f]; ok {
		return name, nil
	}
	name = "described_" + rand.Text()
	w.functions[f] = name
	def, err := graphdef.ToFunctionDef(f.graph, graphdef.Function{Name: name, Args: f.named, Ends: []*graph.Node{f.end}})
	if err != nil {
		return "", err
	}
	if err := w.take(proto.Size(def)); err != nil {
		return "", err
	}
	for _, n := range def.GetNodeDef() {
		n.Device = ""
		if err := w.rename(n, functions); err != nil {
			return "", err
		}
	}
	w.library = append(w.library, def)
	return name, nil
}

// calls reports whether a node calls functions.
func calls(n *graph.Node) bool {
	for _, a := range n.Attrs {
		switch a.(type) {
		case graph.Func, []graph.Func:
			return true
		}
	}
	return false
}
