package export

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// assemble makes the parts of a SavedModel.
func assemble(m Model, o Options) (savedmodel.Writing, error) {
	w := savedmodel.Writing{Text: o.Text, Assets: map[string][]byte{}, Extra: maps.Clone(m.Assets)}
	if len(m.Graphs) == 0 {
		return w, errors.New("export: a model of no graphs: expected one to predict")
	}
	variables := map[string]variable{}
	modes := map[models.Mode]bool{}
	for _, g := range m.Graphs {
		if modes[g.Mode] {
			return w, fmt.Errorf("export: two graphs of mode %s: expected one a mode", g.Mode)
		}
		modes[g.Mode] = true
		a, mg, err := assembleGraph(g, m.Variables, o.Log)
		if err == nil {
			err = errors.Join(mergeVariables(variables, a.variables), mergeAssets(w.Assets, a.assets))
		}
		if err != nil {
			return w, fmt.Errorf("export, mode %s: %w", g.Mode, err)
		}
		w.MetaGraphs = append(w.MetaGraphs, mg)
	}
	if len(variables) > 0 {
		w.Variables = variablesOf(variables, m.Variables)
	}
	return w, addWarmUp(&w, m)
}

// variablesOf adds the values of variables to a bundle.
func variablesOf(variables map[string]variable, vars Variables) func(b *bundle.Writer) error {
	return func(b *bundle.Writer) error { return writeVariables(b, variables, vars) }
}

func mergeAssets(to map[string][]byte, from []columngraph.Asset) error {
	for _, f := range from {
		if old, ok := to[f.Name]; ok && !bytes.Equal(old, f.Content) {
			return fmt.Errorf("two assets are named %q and differ", f.Name)
		}
		to[f.Name] = f.Content
	}
	return nil
}

// addWarmUp writes the requests that a server replays before the model is available.
func addWarmUp(w *savedmodel.Writing, m Model) error {
	if len(m.WarmUp) == 0 {
		return nil
	}
	if w.Extra == nil {
		w.Extra = map[string][]byte{}
	}
	var records []byte
	for _, log := range m.WarmUp {
		b, err := proto.Marshal(log)
		if err != nil {
			return fmt.Errorf("export: warm-up request: %w", err)
		}
		records = tfrecord.Append(records, b)
	}
	w.Extra[savedmodel.WarmUpFile] = records
	return nil
}

// assembly is the graph of one mode while it is being made.
type assembly struct {
	emitter
	mode       models.Mode
	input      InputForm
	feeds      []Feed
	columns    *feature.Plan
	rawColumns []inputs.Column
	signatures []Signature // their outputs are in this graph
	inputs     []input
	init       []*graph.Node
	assets     []columngraph.Asset
	step       graph.Output // the handle of global_step; invalid if there is none
	variables  []variable
	local      map[string]*tensor.Tensor
	locals     []variable
	library    []byte        // the functions of the graph, serialized
	trainOp    []*graph.Node // what a step runs; in the end a single node
	saver      *saver        // nil: there are no variables
	main       *graph.Node   // runs init; nil: nothing needs initialisation
	log        *slog.Logger
}

func assembleGraph(g Graph, vars Variables, log *slog.Logger) (*assembly, *pb.MetaGraphDef, error) {
	a, err := newAssembly(g, log)
	if err != nil {
		return nil, nil, err
	}
	if err := a.offer(); err != nil {
		return nil, nil, err
	}
	if err := portable(a.emitter); err != nil {
		return nil, nil, err
	}
	if err := a.feed(); err != nil {
		return nil, nil, err
	}
	a.train()
	if err := a.save(vars); err != nil {
		return nil, nil, err
	}
	a.initialise()
	mg, err := a.metaGraph()
	return a, mg, err
}

// newAssembly copies the part of the graph that is exported.
func newAssembly(g Graph, log *slog.Logger) (*assembly, error) {
	a := &assembly{mode: g.Mode, input: g.Input, columns: g.Columns, rawColumns: g.Raw, local: g.Local, log: log}
	if g.IR == nil || len(g.Signatures) == 0 {
		return nil, errors.New("no graph, or no signatures: expected both")
	}
	var keep []*graph.Node
	for _, f := range g.Feeds {
		if !f.Values.Valid() || g.IR.Node(f.Values.Node.Name) != f.Values.Node {
			return nil, fmt.Errorf("column %q: it feeds no placeholder of the graph", f.Column.Name)
		}
		keep = append(keep, f.Values.Node)
		if f.Offsets.Valid() {
			keep = append(keep, f.Offsets.Node)
		}
	}
	for _, s := range g.Signatures {
		for _, o := range s.Outputs {
			if !o.Output.Valid() || g.IR.Node(o.Output.Node.Name) != o.Output.Node {
				return nil, fmt.Errorf("signature %q: output %q is not of the graph", s.Name, o.Name)
			}
			keep = append(keep, o.Output.Node)
		}
	}
	for _, n := range g.TrainOp {
		if n == nil || g.IR.Node(n.Name) != n {
			return nil, errors.New("the train op has a node that is not of the graph")
		}
		keep = append(keep, n)
	}
	step := g.IR.Node(globalStep)
	if step != nil && step.Op == "VarHandleOp" {
		keep = append(keep, step)
	}
	copied := graph.Prune(g.IR, keep...)
	a.emitter = emitter{graph.NewBuilder(copied)}
	move := func(o graph.Output) graph.Output {
		if o.Valid() {
			o.Node = copied.Node(o.Node.Name)
		}
		return o
	}
	for _, f := range g.Feeds {
		f.Values, f.Offsets = move(f.Values), move(f.Offsets)
		a.feeds = append(a.feeds, f)
	}
	for _, s := range g.Signatures {
		s.Outputs = slices.Clone(s.Outputs)
		for i := range s.Outputs {
			s.Outputs[i].Output = move(s.Outputs[i].Output)
		}
		a.signatures = append(a.signatures, s)
	}
	for _, n := range g.TrainOp {
		a.trainOp = append(a.trainOp, copied.Node(n.Name))
	}
	if step != nil {
		a.step = graph.Output{Node: copied.Node(globalStep)}
	}
	return a, nil
}

// roots returns the nodes that the signatures need, and the train op.
func (a *assembly) roots() []*graph.Node {
	out := slices.Clone(a.trainOp)
	for _, s := range a.signatures {
		for _, o := range s.Outputs {
			out = append(out, o.Output.Node)
		}
	}
	return out
}
