package export_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/variable_go_proto"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

func rowNumbers(b *graph.Builder, ids, offsets graph.Output) graph.Output {
	return lower.RowNumbers(b, "row", ids, offsets)
}

func padded(b *graph.Builder, name string, x, at graph.Output) graph.Output {
	return lower.GatherPadded(b, name, x, at)
}

// The results that both serving inputs must give for these rows.
var (
	rawRows = map[string]*tensor.Tensor{
		"x":       floats([]int{3, 2}, 1, 2, 3, 4, 5, 6),
		"the ids": ints([]int{3, 2}, 0, 1, -1, -1, 2, -1),
	}
	wantSum = []float32{11, 22, 3, 4, 35, 36}
)

func checkRows(t *testing.T, got map[string]*tensor.Tensor) {
	t.Helper()
	if d := cmp.Diff(wantSum, tensor.Values[float32](got["sum"])); d != "" {
		t.Error(d)
	}
	if joined(got["word"]) != "UNK UNK UNK" || joined(got["digit"]) != "1 1 1" || !slices.Equal(got["word"].Shape, []int{3}) {
		t.Errorf("words %q, digits %q", joined(got["word"]), joined(got["digit"]))
	}
}

func TestRaw(t *testing.T) {
	m := newToy()
	dir := write(t, m.model(m.graph(export.Raw(), m.predicting("predict"))))
	for _, name := range []string{"predict", "serving_default"} {
		got, err := served(t, dir, name, rawRows)
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, got)
	}
	one := map[string]*tensor.Tensor{"x": floats([]int{1, 2}, 5, 0), "the ids": ints([]int{1, 0})}
	got, err := served(t, dir, "predict", one)
	if err != nil || joined(got["word"]) != "left" || joined(got["digit"]) != "0" {
		t.Errorf("one row without ids: %v, %v", got, err)
	}
}

func TestParsing(t *testing.T) {
	m := newToy()
	all := []export.Signature{m.predicting("predict"),
		{Name: "serving_default", Kind: export.Classify, Outputs: []export.Named{{Name: "scores", Output: m.pr}, {Name: "classes", Output: m.best, Text: &export.Text{}}}},
		{Name: "regression", Kind: export.Regress, Outputs: []export.Named{{Name: "mean", Output: m.first}}}}
	dir := write(t, m.model(m.graph(export.Parsing(), all...)))
	examples := words(
		example(t, map[string]any{"x": []float32{1, 2}, "the ids": []int64{0, 1}, "other": []string{"ignored"}}),
		example(t, map[string]any{"x": []float32{3, 4}}),
		example(t, map[string]any{"x": []float32{5, 6}, "the ids": []int64{2}}))
	got, err := served(t, dir, "predict", map[string]*tensor.Tensor{"examples": examples})
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, got)
	got, err = served(t, dir, "serving_default", map[string]*tensor.Tensor{"inputs": examples})
	if err != nil || joined(got["classes"]) != "1 1 1" || !slices.Equal(got["scores"].Shape, []int{3, 2}) {
		t.Errorf("classified: %v, %v", got, err)
	}
	got, err = served(t, dir, "regression", map[string]*tensor.Tensor{"inputs": examples})
	if err != nil || cmp.Diff(tensor.Values[float32](got["outputs"]), []float32{16.5, 3.5, 35.5}) != "" {
		t.Errorf("regressed: %v, %v", got, err)
	}
	if _, err := served(t, dir, "predict", map[string]*tensor.Tensor{"examples": words("nonsense")}); err == nil {
		t.Error("expected an error of what is no example")
	}
	methods := map[string]string{}
	for name, s := range read(t, dir, "serve").Signatures {
		methods[name] = s.GetMethodName()
	}
	want := map[string]string{"predict": savedmodel.MethodPredict, "serving_default": savedmodel.MethodClassify, "regression": savedmodel.MethodRegress}
	if d := cmp.Diff(want, methods); d != "" {
		t.Error(d)
	}
}

// With raw inputs, only the predict signatures remain; one of them becomes the default.
func TestDefaults(t *testing.T) {
	m := newToy()
	classify := export.Signature{Name: "serving_default", Kind: export.Classify, Outputs: []export.Named{{Name: "scores", Output: m.pr}}}
	named := func(list ...string) (out []export.Signature) {
		for _, n := range list {
			out = append(out, m.predicting(n))
		}
		return out
	}
	for want, list := range map[string][]export.Signature{
		"predict serving_default":       append(named("predict"), classify),
		"one serving_default":           named("one"),
		"one serving_default two":       named("one", "serving_default", "two"),
		"one two":                       append(named("one", "two"), classify),
		"one predict serving_default":   append(named("one", "predict"), classify),
		"only serving_default":          append(named("only"), classify),
		"error multiple export_outputs": named("one", "two"),
		"error every signature":         {classify},
	} {
		dir, err := export.SavedModel(atomicfile.OS{}, t.TempDir(), m.model(m.graph(export.Raw(), list...)), withoutLog)
		if text, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %v", want, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(read(t, dir, "serve").Signatures)), " "); got != want {
			t.Errorf("got signatures %q, want %q", got, want)
		}
	}
}

// Examples hold numbers as int64 and float32; they are converted to the graph's types.
func TestTypesOfExamples(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Bool} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", typ(d, graph.BatchOf()))
		y := b.Op("Cast", "y", typ(tensor.Float32, graph.BatchOf()), graph.Attrs{"SrcT": d, "DstT": tensor.Float32, "Truncate": false}, x)
		g := export.Graph{Mode: models.Predict, IR: b.Graph, Input: export.Parsing(), Feeds: []export.Feed{{Column: inputs.Column{Name: "x", DType: d}, Values: x}},
			Signatures: []export.Signature{{Name: "predict", Kind: export.Predict, Outputs: []export.Named{{Name: "y", Output: y}}}}}
		dir := write(t, export.Model{Graphs: []export.Graph{g}})
		var v any = []int64{1}
		if d.Float() {
			v = []float32{1}
		}
		got, err := served(t, dir, "predict", map[string]*tensor.Tensor{"examples": words(example(t, map[string]any{"x": v}))})
		if err != nil || got["y"].Float(0) != 1 {
			t.Errorf("%v: %v, %v", d, got["y"], err)
		}
		if _, err := os.Stat(filepath.Join(dir, "variables")); err == nil {
			t.Error("a model without variables has a folder for them")
		}
	}
}

// Sequences have a maximal length; longer ones are refused.
func TestLength(t *testing.T) {
	m := newToy()
	g := m.graph(export.Raw(), m.predicting("predict"))
	g.Feeds[1].Length, g.Feeds[1].Width = 1, 2
	dir := write(t, m.model(g))
	if _, err := served(t, dir, "predict", rawRows); err != nil {
		t.Errorf("of two values there is one too many: %v", err)
	}
	long := map[string]*tensor.Tensor{"x": floats([]int{1, 2}, 5, 0), "the ids": ints([]int{1, 3}, 0, 0, 0)}
	if _, err := served(t, dir, "predict", long); err == nil || !strings.Contains(err.Error(), `more than 2 values of "the ids"`) {
		t.Errorf("got %v", err)
	}
}

// The train and eval graphs share the variables with the served graph.
func TestModes(t *testing.T) {
	m, e := newToy(), newToy()
	loss := e.b.Op("Sum", "loss", typ(tensor.Float32, graph.Shape{}), graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "keep_dims": false}, e.first, e.b.Scalar("all", tensor.Int32, 0))
	eval := export.Graph{Mode: models.Eval, IR: e.b.Graph, Feeds: e.feeds(), Signatures: []export.Signature{{Name: "eval", Kind: export.Eval, Outputs: []export.Named{{Name: "loss", Output: loss}}}}}
	train := eval
	train.Mode, train.Signatures = models.Train, []export.Signature{{Name: "train", Kind: export.Training, Outputs: []export.Named{{Name: "loss", Output: loss}}}}
	model := m.model(m.graph(export.Raw(), m.predicting("predict")), eval, train)
	model.Assets = map[string][]byte{"notes.txt": []byte("x")}
	model.WarmUp = []*apis_go_proto.PredictionLog{{}, {}}
	dir := write(t, model)
	for tag, method := range map[string]string{"serve": savedmodel.MethodPredict, "train": savedmodel.MethodTrain, "eval": savedmodel.MethodEval} {
		for _, s := range read(t, dir, tag).Signatures {
			if s.GetMethodName() != method {
				t.Errorf("tag %s has a signature of %s", tag, s.GetMethodName())
			}
		}
	}
	r, err := read(t, dir, "serve").Variables()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.List()); n != 3 {
		t.Errorf("%d variables, want 3", n)
	}
	for _, name := range []string{"notes.txt", savedmodel.WarmUpFile} {
		if b, err := os.ReadFile(filepath.Join(dir, savedmodel.ExtraDir, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// What loaders of TensorFlow 1 read: variables, the trainable ones, the saver, no private attributes.
func TestCollections(t *testing.T) {
	m := newToy()
	model := m.model(m.graph(export.Raw(), m.predicting("predict")))
	model.Variables.Trainable = func(name string) bool { return name == "table" }
	g := read(t, write(t, model), "serve")
	names := func(collection string) (out []string) {
		for _, b := range g.Proto.GetCollectionDef()[collection].GetBytesList().GetValue() {
			v := &variable_go_proto.VariableDef{}
			if err := proto.Unmarshal(b, v); err != nil {
				t.Fatal(err)
			}
			for _, n := range []string{v.VariableName, v.InitializerName, v.SnapshotName, v.InitialValueName} {
				node, _, _ := strings.Cut(n, ":")
				if g.Graph.Node(node) == nil {
					t.Errorf("%s: no node %q", v.VariableName, node)
				}
			}
			out = append(out, fmt.Sprint(v.VariableName, v.Trainable))
		}
		return out
	}
	if d := cmp.Diff([]string{"dense/w:0false", "global_step:0false", "table:0true"}, names("variables")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"table:0true"}, names("trainable_variables")); d != "" {
		t.Error(d)
	}
	if len(names("global_step")) != 1 {
		t.Error("no collection of the global step")
	}
	s := g.Proto.GetSaverDef()
	for _, n := range []string{s.GetFilenameTensorName(), s.GetSaveTensorName(), s.GetRestoreOpName()} {
		node, _, _ := strings.Cut(n, ":")
		if g.Graph.Node(node) == nil {
			t.Errorf("the saver's %q is not in the graph", n)
		}
	}
	for _, n := range g.Proto.GetGraphDef().GetNode() {
		for a := range n.GetAttr() {
			if strings.HasPrefix(a, "_") {
				t.Errorf("node %s has the attribute %s", n.GetName(), a)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	m := newToy()
	model, base := m.model(m.graph(export.Raw(), m.predicting("predict"))), t.TempDir()
	var dirs []string
	for range 3 {
		dir, err := export.SavedModel(atomicfile.OS{}, base, model, export.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if dirs = append(dirs, dir); len(filepath.Base(dir)) != 10 {
			t.Errorf("%s: expected a name of ten digits", dir)
		}
	}
	if !slices.IsSorted(dirs) || len(slices.Compact(slices.Clone(dirs))) != 3 {
		t.Errorf("got %v", dirs)
	}
}

func TestWrong(t *testing.T) {
	for want, change := range map[string]func(m *export.Model, toy *toy){
		"a model of no graphs": func(m *export.Model, _ *toy) { m.Graphs = nil },
		"two graphs of mode":   func(m *export.Model, _ *toy) { m.Graphs = append(m.Graphs, m.Graphs[0]) },
		"no signatures":        func(m *export.Model, _ *toy) { m.Graphs[0].Signatures = nil },
		"it feeds no placeholder": func(m *export.Model, _ *toy) {
			m.Graphs[0].Feeds[0].Values = newToy().x
		},
		"is not of the graph": func(m *export.Model, _ *toy) { m.Graphs[0].Signatures[0].Outputs[0].Output = newToy().sum },
		"has no outputs":      func(m *export.Model, _ *toy) { m.Graphs[0].Signatures[0].Outputs = nil },
		`kind "eval"`:         func(m *export.Model, _ *toy) { m.Graphs[0].Signatures[0].Kind = export.Eval },
		"ids of words":        func(m *export.Model, y *toy) { m.Graphs[0].Signatures[0].Outputs[2].Output = y.sum },
		"fed in two ways":     func(m *export.Model, _ *toy) { m.Graphs[0].Feeds[1].Column.Name = "x" },
		`variable "table": unexpected EOF`: func(_ *export.Model, y *toy) {
			delete(y.values, "table")
		},
		`variable "dense/w": its value`: func(_ *export.Model, y *toy) { y.values["dense/w"] = floats([]int{1}, 1) },
		"internal op":                   func(_ *export.Model, y *toy) { y.sum.Node.Op = "_Fused" },
		"expected floats": func(m *export.Model, y *toy) {
			m.Graphs[0].Input = export.Parsing()
			m.Graphs[0].Signatures[0] = export.Signature{Name: "serving_default", Kind: export.Regress, Outputs: []export.Named{{Name: "b", Output: y.best}}}
		},
		"words named classes": func(m *export.Model, y *toy) {
			m.Graphs[0].Input = export.Parsing()
			m.Graphs[0].Signatures[0] = export.Signature{Name: "serving_default", Kind: export.Classify, Outputs: []export.Named{{Name: "b", Output: y.best}}}
		},
	} {
		y, base := newToy(), t.TempDir()
		m := y.model(y.graph(export.Raw(), y.predicting("predict")))
		change(&m, y)
		if _, err := export.SavedModel(atomicfile.OS{}, base, m, withoutLog); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
		if names, err := os.ReadDir(base); err != nil && !errors.Is(err, os.ErrNotExist) || len(names) > 0 {
			t.Errorf("%s: left over: %v", want, names)
		}
	}
}

// The exported graph itself is not changed.
func TestIRIsNotChanged(t *testing.T) {
	m := newToy()
	before := fmt.Sprintf("%+v", describe(m.b.Graph))
	write(t, m.model(m.graph(export.Parsing(), m.predicting("predict"))))
	if after := fmt.Sprintf("%+v", describe(m.b.Graph)); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func describe(g *graph.Graph) (out []string) {
	for _, n := range g.Nodes() {
		out = append(out, fmt.Sprint(n.Name, n.Op, n.Inputs, n.Outputs, slices.Sorted(maps.Keys(n.Attrs))))
	}
	return out
}
