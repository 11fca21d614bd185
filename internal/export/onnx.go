package export

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// OnnxFile is the name of an exported ONNX model.
const OnnxFile = "model.onnx"

// ONNX writes m to <base>/<version>/model.onnx and returns that directory, which
// is created atomically.
// The model is the Predict graph, fed by raw columns, with the outputs of its signature predict, or
// serving_default. The error lists all ops without a form in ONNX, such as lookup
// tables and string hashes.
func ONNX(fsys atomicfile.FS, base string, m Model, o Options) (dir string, err error) {
	i := slices.IndexFunc(m.Graphs, func(g Graph) bool { return g.Mode == models.Predict })
	if i < 0 {
		return "", errors.New("onnx: expected a graph to predict")
	}
	g := m.Graphs[i]
	if g.Input != Raw() {
		return "", errors.New("onnx: examples cannot be parsed there: expected the raw serving input")
	}
	data, err := onnxOf(g, m.Variables)
	if err != nil {
		return "", fmt.Errorf("onnx: %w", err)
	}
	dir, err = savedmodel.Publish(fsys, base, o.Version, func(dir string) error {
		return atomicfile.WriteFile(fsys, filepath.Join(dir, OnnxFile), data)
	})
	if err != nil {
		return "", fmt.Errorf("onnx: %w", err)
	}
	return dir, nil
}

// onnxOf translates the graph and returns the content of the file.
func onnxOf(g Graph, vars Variables) ([]byte, error) {
	a, err := newAssembly(g, slog.New(slog.DiscardHandler)) // that signatures are left out need not be logged
	if err != nil {
		return nil, err
	}
	if err := errors.Join(a.offer(), portable(a.emitter)); err != nil {
		return nil, err
	}
	if err := a.feed(); err != nil {
		return nil, err
	}
	s, err := a.onnxSignature()
	if err != nil {
		return nil, err
	}
	t := &translation{values: map[graph.Output]string{}, taken: map[string]bool{}, read: map[*graph.Node]string{}, variables: vars}
	if err := t.run(a, s); err != nil {
		return nil, err
	}
	return (&onnx.Model{Producer: "goestimator", Graph: t.out, Metadata: map[string]string{"signature": s.Name}}).Marshal()
}

// onnxSignature returns the signature whose outputs the ONNX model has.
func (a *assembly) onnxSignature() (Signature, error) {
	for _, name := range []string{string(Predict), "serving_default"} {
		if i := slices.IndexFunc(a.signatures, func(s Signature) bool { return s.Name == name && s.Kind == Predict }); i >= 0 {
			return a.signatures[i], nil
		}
	}
	return Signature{}, errors.New("no signature to predict is named predict or serving_default")
}

// translation is a graph being translated to ONNX.
type translation struct {
	out       onnx.Graph
	values    map[graph.Output]string
	taken     map[string]bool        // names of values
	read      map[*graph.Node]string // initializers of variables, by handle
	variables Variables
}

func (t *translation) run(a *assembly, s Signature) error {
	for _, n := range a.Graph.Nodes() {
		n.Control = nil // assertions, which ONNX does not have
	}
	var roots []*graph.Node
	for _, o := range s.Outputs {
		roots = append(roots, o.Output.Node)
	}
	nodes, err := graph.Sort(graph.Prune(a.Graph, roots...))
	if err != nil {
		return err
	}
	pruned := map[string]*graph.Node{}
	for _, n := range nodes {
		pruned[n.Name] = n
	}
	t.out.Name = "goestimator"
	for _, in := range a.inputs {
		n := pruned[in.tensor.Node.Name]
		if n == nil {
			continue // no output depends on it
		}
		t.values[n.Out(in.tensor.Index)] = t.unique(in.key)
		t.out.Inputs = append(t.out.Inputs, t.value(in.key, in.tensor))
	}
	names := make([]string, len(s.Outputs))
	for i, o := range s.Outputs {
		names[i] = t.unique(o.Name) // before nodes and variables take the name
	}
	if err := t.checkSize(nodes); err != nil {
		return err
	}
	if err := t.nodes(nodes); err != nil {
		return err
	}
	for i, o := range s.Outputs {
		from, name := t.values[pruned[o.Output.Node.Name].Out(o.Output.Index)], names[i]
		t.out.Nodes = append(t.out.Nodes, onnx.Node{Op: "Identity", Name: name, Inputs: []string{from}, Outputs: []string{name}})
		t.out.Outputs = append(t.out.Outputs, t.value(name, o.Output))
	}
	t.dropUnused()
	return nil
}

// checkSize fails if the variables alone are too large for a file, before they are read.
func (t *translation) checkSize(nodes []*graph.Node) error {
	total := 0
	for _, n := range nodes {
		shape, ok1 := n.Attrs["shape"].(graph.Shape)
		d, ok2 := n.Attrs["dtype"].(tensor.DType)
		if n.Op != "VarHandleOp" || !ok1 || !ok2 || !shape.Known() {
			continue
		}
		if total += tensor.NumElements(shape.At(0)) * d.Size(); total > math.MaxInt32 {
			return onnx.ErrTooLarge
		}
	}
	return nil
}

// dropUnused removes constants that became attributes.
func (t *translation) dropUnused() {
	used := map[string]bool{}
	for _, n := range t.out.Nodes {
		for _, in := range n.Inputs {
			used[in] = true
		}
	}
	t.out.Initializers = slices.DeleteFunc(t.out.Initializers, func(i onnx.Initializer) bool { return !used[i.Name] })
}

// nodes translates all nodes. Its error lists those that it cannot translate.
func (t *translation) nodes(nodes []*graph.Node) error {
	var errs []error
	missing := map[string][]string{}
	for _, n := range nodes {
		if n.Op == "NoOp" || len(n.Outputs) > 0 && t.values[n.Out(0)] != "" {
			continue
		}
		f := onnxOps[n.Op]
		if f == nil {
			missing[n.Op] = append(missing[n.Op], n.Name)
			for i := range n.Outputs {
				t.values[n.Out(i)] = "?"
			}
			continue
		}
		if err := f(&site{t, n}); err != nil {
			errs = append(errs, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err))
			for i := range n.Outputs {
				t.values[n.Out(i)] = "?"
			}
		}
	}
	if len(missing) == 0 {
		return errors.Join(errs...)
	}
	var parts []string
	for _, op := range sortedNames(missing) {
		parts = append(parts, fmt.Sprintf("%s (%s)", op, missing[op][0]))
	}
	return errors.Join(append(errs, fmt.Errorf("ONNX has no form of the ops %s", strings.Join(parts, ", ")))...)
}

func sortedNames(m map[string][]string) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// unique returns an unused name for a value.
func (t *translation) unique(name string) string {
	for i, base := 1, name; t.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	t.taken[name] = true
	return name
}

// value describes an input or output. Dimensions that depend on the batch are called batch.
func (t *translation) value(name string, o graph.Output) onnx.Value {
	v := onnx.Value{Name: name, DType: o.DType(), Unranked: o.Shape().UnknownRank}
	for i, d := range o.Shape().Dims {
		switch {
		case d == graph.Batch || i == 0 && !d.Static():
			v.Dims = append(v.Dims, onnx.Dim{Symbol: "batch"})
		case d.Static():
			v.Dims = append(v.Dims, onnx.Dim{Size: d.Const})
		default:
			v.Dims = append(v.Dims, onnx.Dim{Symbol: fmt.Sprintf("%s_%d", name, i)})
		}
	}
	return v
}
