package export_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/export"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/models"
)

// ofColumns is a model of a number, kept as it is too, and of a word of a vocabulary file as an indicator.
func ofColumns(t *testing.T, in export.ServingInput) export.Model {
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
		Raw: []inputs.Column{{Name: "age", DType: graph.Float32}, {Name: "job", DType: graph.String}}}
	var outs []export.Named
	add := func(name string, shape graph.Shape, width ...int) {
		x := b.Placeholder("features/"+name, typ(graph.Float32, shape))
		g.Feeds = append(g.Feeds, export.Feed{Column: inputs.Column{Name: name, DType: graph.Float32, Shape: width}, Values: x})
		outs = append(outs, export.Named{Name: name, Output: b.Op("Neg", "neg", typ(graph.Float32, shape), graph.Attrs{"T": graph.Float32}, x)})
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

// Feature columns are a part of the exported model, files of vocabularies its assets.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		in    export.ServingInput
		feeds map[string]*graph.Tensor
	}{
		{export.Raw(), map[string]*graph.Tensor{"age": floats([]int{2}, 30, 40), "job": words("baker", "nurse")}},
		{export.Parsing(), map[string]*graph.Tensor{"examples": words(
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
			if d := cmp.Diff(want, slices.Clone(graph.Of[float32](x))); d != "" {
				t.Errorf("%v, %s: %s", c.in, name, d)
			}
		}
	}
}
