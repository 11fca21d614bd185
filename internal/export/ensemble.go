package export

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// EnsembleSavedModel writes the models as one SavedModel, to a new folder of base like SavedModel. Each model must have one graph, for Predict, with
// the same signatures and inputs as the others. Each signature returns the means of the models' numbers; class_ids, and the classes that they name,
// belong to the greatest mean probability. Other outputs, such as the list of all classes, must be the same in all models.
//
// Variables and nodes of model k are below member_k. Assets and warm-up requests come from the first model.
func EnsembleSavedModel(fsys atomicfile.FS, base string, members []Model, o Options) (dir string, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if len(members) < 2 {
		return "", fmt.Errorf("export: an ensemble of %d models: expected two or more", len(members))
	}
	a, mg, err := assembleEnsemble(members, o.Log)
	if err != nil {
		return "", fmt.Errorf("export, ensemble: %w", err)
	}
	w := savedmodel.Writing{Text: o.Text, Assets: map[string][]byte{}, Extra: members[0].Assets, MetaGraphs: []*pb.MetaGraphDef{mg}}
	if err := mergeAssets(w.Assets, a.assets); err != nil {
		return "", err
	}
	variables := map[string]variable{}
	if err := mergeVariables(variables, a.variables); err != nil {
		return "", err
	}
	if len(variables) > 0 {
		w.Variables = func(b *bundle.Writer) error { return writeVariables(b, variables, a.values) }
	}
	if err := addWarmUp(&w, members[0]); err != nil {
		return "", err
	}
	return savedmodel.Write(fsys, base, o.Version, w)
}

// ensemble is an assembly made from several models.
type ensemble struct {
	*assembly
	values Variables
	means  map[graph.Output]graph.Output // by the first model's value
}

func assembleEnsemble(members []Model, log *slog.Logger) (*ensemble, *pb.MetaGraphDef, error) {
	a := &ensemble{means: map[graph.Output]graph.Output{},
		assembly: &assembly{emitter: emitter{graph.NewBuilder(graph.New())}, mode: models.Predict, log: log}}
	var signatures [][]Signature
	owners := map[string]owner{}
	for k, m := range members {
		one, err := newMember(m, log)
		if err == nil {
			err = a.take(one, k, m, owners)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("model %d: %w", k, err)
		}
		signatures = append(signatures, one.signatures)
	}
	a.values = valuesOf(owners)
	for i, s := range signatures[0] {
		var all []Signature
		for k, list := range signatures {
			j := slices.IndexFunc(list, func(t Signature) bool { return t.Name == s.Name && t.Kind == s.Kind })
			if j < 0 {
				return nil, nil, fmt.Errorf("model %d has no signature %q to %s as the first one has", k, s.Name, s.Kind)
			}
			all = append(all, list[j])
		}
		mean, err := a.mean(all, signatures[0])
		if err != nil {
			return nil, nil, fmt.Errorf("signature %q: %w", signatures[0][i].Name, err)
		}
		a.signatures = append(a.signatures, mean)
	}
	if err := a.offer(); err != nil {
		return nil, nil, err
	}
	if err := a.save(a.values); err != nil {
		return nil, nil, err
	}
	a.initialise()
	mg, err := a.metaGraph()
	return a, mg, err
}

// newMember returns the graph of one model, from its serving input to the outputs of its signatures.
func newMember(m Model, log *slog.Logger) (*assembly, error) {
	if len(m.Graphs) != 1 || m.Graphs[0].Mode != models.Predict {
		return nil, fmt.Errorf("it has %d graphs: expected one, to predict", len(m.Graphs))
	}
	a, err := newAssembly(m.Graphs[0], log)
	if err != nil {
		return nil, err
	}
	if len(a.Graph.Library) > 0 {
		return nil, errors.New("its graph has functions: it can be exported alone")
	}
	a.keepOutputs()
	if err := portable(a.emitter); err != nil {
		return nil, err
	}
	return a, a.feed()
}

// keepOutputs adds a node after each value that signatures return, so that no rewriting removes the value.
func (a *assembly) keepOutputs() {
	kept := map[graph.Output]graph.Output{}
	for _, s := range a.signatures {
		for j, o := range s.Outputs {
			if _, ok := kept[o.Output]; !ok {
				kept[o.Output] = a.identity("answer/"+o.Name, o.Output)
			}
			s.Outputs[j].Output = kept[o.Output]
		}
	}
}

// owner says which model has the value of a variable of the ensemble.
type owner struct {
	name  string // in its model
	model Variables
}

func valuesOf(owners map[string]owner) Variables {
	trainable := func(name string) bool {
		o := owners[name]
		return o.name != globalStep && (o.model.Trainable == nil || o.model.Trainable(o.name))
	}
	return Variables{Trainable: trainable, Value: func(name string) (*tensor.Tensor, error) { return owners[name].model.Value(owners[name].name) }}
}

// take moves the nodes of model k to the ensemble, without its serving inputs: the first model's are used.
func (a *ensemble) take(m *assembly, k int, of Model, owners map[string]owner) error {
	prefix := fmt.Sprintf("member_%d/", k)
	nodes, err := graph.Sort(m.Graph)
	if err != nil {
		return err
	}
	if err := a.share(m); err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Op == "VarHandleOp" {
			own := owner{n.Str("shared_name"), of.Variables}
			if own.name == "" {
				own.name = n.Name
			}
			shared := prefix + own.name
			if own.name == globalStep && k == 0 {
				shared = globalStep
			}
			owners[shared], n.Attrs["shared_name"] = own, []byte(shared)
		}
		if !a.isInput(n) {
			n.Name = prefix + n.Name
		}
		if a.Graph.Node(n.Name) == n {
			continue
		}
		if err := a.Graph.Add(n); err != nil {
			return err
		}
	}
	for i, f := range m.assets {
		m.assets[i].Name = fmt.Sprintf("member_%d_%s", k, f.Name)
	}
	a.init, a.assets = append(a.init, m.init...), append(a.assets, m.assets...)
	if k == 0 {
		a.step = m.step
	}
	return nil
}

// share replaces a model's inputs by the ensemble's.
func (a *ensemble) share(m *assembly) error {
	if len(a.inputs) > 0 && a.input != m.input {
		return fmt.Errorf("its serving input is %s, and %s in an earlier model: expected the same", m.input, a.input)
	}
	a.input = m.input
	for _, in := range m.inputs {
		i := slices.IndexFunc(a.inputs, func(b input) bool { return b.key == in.key })
		if i < 0 {
			a.inputs = append(a.inputs, in)
			continue
		}
		if x, y := a.inputs[i].tensor.Type(), in.tensor.Type(); x.DType != y.DType || !x.Shape.Equal(y.Shape) {
			return fmt.Errorf("input %q is %v%v, and %v%v in an earlier model: expected the same", in.key, y.DType, y.Shape, x.DType, x.Shape)
		}
		m.swap(in.tensor, a.inputs[i].tensor)
	}
	return nil
}

func (a *ensemble) isInput(n *graph.Node) bool {
	return slices.ContainsFunc(a.inputs, func(in input) bool { return in.tensor.Node == n })
}
