package export_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// ofColumns returns a model of a number, which is also kept unchanged, and of a word from a vocabulary file, as an indicator.
func ofColumns(t *testing.T, in export.InputForm) export.Model {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.txt")
	if err := os.WriteFile(file, []byte("smith\nbaker\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	job := &feature.Indicator{Of: &feature.VocabularyFile{Key: "job", File: file, OOVBuckets: 1}}
	age := &feature.Numeric{Key: "age"}
	plan, err := feature.New(feature.Columns{Dense: []feature.Column{age, job}, Keep: []string{"age"}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	read := plan.Dense()
	g := export.Graph{Mode: models.Predict, IR: b.Graph, Input: in, Columns: plan,
		Raw: []inputs.Column{{Name: "age", DType: tensor.Float32}, {Name: "job", DType: tensor.String}}}
	var outs []export.Named
	add := func(name string, shape graph.Shape, width ...int) {
		x := b.Placeholder("features/"+name, typ(tensor.Float32, shape))
		g.Feeds = append(g.Feeds, export.Feed{Column: inputs.Column{Name: name, DType: tensor.Float32, Shape: width}, Values: x})
		outs = append(outs, export.Named{Name: name, Output: b.Op("Neg", "neg", typ(tensor.Float32, shape), graph.Attrs{"T": tensor.Float32}, x)})
	}
	for _, c := range read {
		if c.Values != "age" {
			add(c.Values, graph.BatchOf(c.Width), c.Width)
		}
	}
	add("age", graph.BatchOf())
	g.Signatures = []export.Signature{{Name: "predict", Kind: export.Predict, Outputs: outs}}
	return export.Model{Graphs: []export.Graph{g}}
}

// Feature columns are part of the exported model; vocabulary files are its assets.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		in    export.InputForm
		feeds map[string]*tensor.Tensor
	}{
		{export.Raw(), map[string]*tensor.Tensor{"age": floats([]int{2}, 30, 40), "job": words("baker", "nurse")}},
		{export.Parsing(), map[string]*tensor.Tensor{"examples": words(
			example(t, map[string]any{"age": []float32{30}, "job": []string{"baker"}}), example(t, map[string]any{"age": []float32{40}, "job": []string{"nurse"}}))}},
	} {
		dir := write(t, ofColumns(t, c.in))
		g := read(t, dir, "serve")
		if len(g.Assets) != 1 || len(g.InitOps) != 1 {
			t.Fatalf("%v: assets %v, init ops %v: expected one of each", c.in, g.Assets, g.InitOps)
		}
		if b, err := os.ReadFile(g.Assets[0].Path); string(b) != "smith\nbaker\n" {
			t.Errorf("%v: the asset holds %q, %v", c.in, b, err)
		}
		got, err := served(t, dir, "predict", c.feeds)
		if err != nil {
			t.Fatalf("%v: %v", c.in, err)
		}
		for name, x := range got {
			want := []float32{0, -1, 0, 0, 0, -1}
			if len(x.Shape) == 1 {
				want = []float32{-30, -40}
			}
			if d := cmp.Diff(want, slices.Clone(tensor.Values[float32](x))); d != "" {
				t.Errorf("%v, %s: %s", c.in, name, d)
			}
		}
	}
}

// An example may omit features for which the data has a default.
func TestDefaultsOfColumns(t *testing.T) {
	m := ofColumns(t, export.Parsing())
	raw := m.Graphs[0].Raw
	age, job := tensor.Scalar(float32(7)), tensor.New(tensor.String)
	job.Strings[0] = []byte("smith")
	raw[0].Default, raw[1].Default = age, job
	got, err := served(t, write(t, m), "predict", map[string]*tensor.Tensor{"examples": words(
		example(t, nil), example(t, map[string]any{"age": []float32{40}}), example(t, map[string]any{"job": []string{"baker"}}), example(t, map[string]any{"job": []string{""}}))})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range got {
		want := []float32{-1, 0, 0, -1, 0, 0, 0, -1, 0, 0, 0, 0}
		if len(x.Shape) == 1 {
			want = []float32{-7, -40, -7, -7}
		}
		if d := cmp.Diff(want, slices.Clone(tensor.Values[float32](x))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	raw[1].Default = nil
	if _, err := served(t, write(t, m), "predict", map[string]*tensor.Tensor{"examples": words(example(t, nil))}); err != nil {
		t.Errorf("a word that is not there is none, without a default: %v", err)
	}
	raw[0].Default = nil
	if _, err := served(t, write(t, m), "predict", map[string]*tensor.Tensor{"examples": words(example(t, nil))}); err == nil {
		t.Error("an example without the number, which has no default, was taken")
	}
}

// The same holds for a column that no feature column reads, of any type and shape.
func TestDefaultsOfFeeds(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	g := export.Graph{Mode: models.Predict, IR: b.Graph, Input: export.Parsing()}
	var outs []export.Named
	defaults := map[string]*tensor.Tensor{"f": floats([]int{2}, 1.5, -2), "d": tensor.Scalar(2.5), "i": tensor.Scalar(int32(-3)), "u": tensor.Scalar(uint8(200)), "s": {DType: tensor.String, Shape: []int{1}, Strings: [][]byte{[]byte("é")}}}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		d := defaults[name]
		shape := graph.BatchOf(d.Shape...)
		x := b.Placeholder("features/"+name, typ(d.DType, shape))
		g.Feeds = append(g.Feeds, export.Feed{Column: inputs.Column{Name: name, DType: d.DType, Shape: d.Shape, Default: d}, Values: x})
		outs = append(outs, export.Named{Name: name, Output: b.Op("Identity", "same_"+name, typ(d.DType, shape), graph.Attrs{"T": d.DType}, x)})
	}
	g.Signatures = []export.Signature{{Name: "predict", Kind: export.Predict, Outputs: outs}}
	got, err := served(t, write(t, export.Model{Graphs: []export.Graph{g}}), "predict", map[string]*tensor.Tensor{"examples": words(
		example(t, nil), example(t, map[string]any{"f": []float32{3, 4}, "d": []float32{5}, "i": []int64{6}, "u": []int64{7}, "s": []string{"x"}}))})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"f": {1.5, -2, 3, 4}, "d": {2.5, 5}, "i": {-3, 6}, "u": {200, 7}} {
		for i, v := range want {
			if got[name].DType != defaults[name].DType || got[name].Float(i) != v {
				t.Errorf("%s: %v %v at %d, expected %v %v", name, got[name].DType, got[name].Float(i), i, defaults[name].DType, v)
			}
		}
	}
	if joined(got["s"]) != "é x" {
		t.Errorf("s: %q", joined(got["s"]))
	}
}
