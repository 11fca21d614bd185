package export_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// voting returns the signature of a toy that classifies.
func (m *toy) voting(more ...export.Named) export.Signature {
	words := &export.Text{Words: []string{"left", "right"}}
	return export.Signature{Name: "predict", Kind: export.Predict, Outputs: append([]export.Named{
		{Name: "probabilities", Output: m.pr}, {Name: "sum", Output: m.sum}, {Name: "class_ids", Output: m.best},
		{Name: "classes", Output: m.best, Text: words}}, more...)}
}

func ensembleOf(t *testing.T, members ...export.Model) (string, error) {
	t.Helper()
	return export.EnsembleSavedModel(atomicfile.OS{}, t.TempDir(), members, withoutLog)
}

// TestEnsemble: means of numbers, the class with the greatest mean probability if the models disagree, and the variables of each model.
func TestEnsemble(t *testing.T) {
	var members []export.Model
	for _, w := range [][]float32{{1, 0, 0, 1}, {0, 4, 4, 0}, {1, 0, 0, 1}} {
		m := newToy()
		m.values["dense/w"] = floats([]int{2, 2}, w...)
		members = append(members, m.model(m.graph(export.Parsing(), m.voting())))
	}
	dir, err := ensembleOf(t, members...)
	if err != nil {
		t.Fatal(err)
	}
	examples := words(example(t, map[string]any{"x": []float32{1, 0}, "the ids": []int64{}}), example(t, map[string]any{"x": []float32{0.5, 1}, "the ids": []int64{0, 1}}))
	got, err := served(t, dir, "serving_default", map[string]*tensor.Tensor{"examples": examples})
	if err != nil {
		t.Fatal(err)
	}
	if sum := tensor.Values[float32](got["sum"]); !slices.Equal(sum, []float32{2. / 3, 4. / 3, (10.5 + 14 + 10.5) / 3, (21 + 22 + 21) / 3.}) {
		t.Errorf("sums %v", sum)
	}
	// Two of three say left, but the third is surer: (0.731 + 0.018 + 0.731) / 3 < 1/2.
	if ids := tensor.Values[int64](got["class_ids"]); !slices.Equal(ids, []int64{1, 1}) || joined(got["classes"]) != "right right" {
		t.Errorf("classes %v %s", ids, joined(got["classes"]))
	}
	if p := tensor.Values[float32](got["probabilities"]); !(p[0] > 0.49 && p[0] < 0.4937 && p[0]+p[1] > 0.99999) {
		t.Errorf("probabilities %v", p)
	}
	r, err := read(t, dir, "serve").Variables()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]float32{"member_0/dense/w": 1, "member_1/dense/w": 0, "member_2/table": 10} {
		if v, err := r.Tensor(name); err != nil || tensor.Values[float32](v)[0] != want {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
	if v, err := r.Tensor("global_step"); err != nil || v.Int(0) != 7 {
		t.Errorf("global_step: %v %v", v, err)
	}
}

// TestEnsemblesRefused: outputs without a mean, and models that differ.
func TestEnsemblesRefused(t *testing.T) {
	one := func(s func(m *toy) export.Signature) export.Model {
		m := newToy()
		return m.model(m.graph(export.Raw(), s(m)))
	}
	good := func(m *toy) export.Signature { return m.voting() }
	named := func(words ...string) func(m *toy) export.Signature {
		return func(m *toy) export.Signature {
			s := m.voting()
			s.Outputs[3].Text = &export.Text{Words: words}
			return s
		}
	}
	for name, c := range map[string]struct {
		members []export.Model
		want    string
	}{
		"alone":        {[]export.Model{one(good)}, "an ensemble of 1 models: expected two or more"},
		"other words":  {[]export.Model{one(good), one(named("right", "left"))}, `output "classes" has other words in model 1 than in the first one`},
		"ids":          {[]export.Model{one((*toy).onlyIDs), one((*toy).onlyIDs)}, `output "best": it is int64: expected numbers with a fraction`},
		"fewer":        {[]export.Model{one(good), one((*toy).onlyIDs)}, `model 1 has other outputs than the first one`},
		"more":         {[]export.Model{one(good), one(func(m *toy) export.Signature { return m.voting(export.Named{Name: "x", Output: m.first}) })}, "other outputs"},
		"other form":   {[]export.Model{one(good), func() export.Model { m := newToy(); return m.model(m.graph(export.Parsing(), m.voting())) }()}, "its serving input is parsing, and raw in an earlier model"},
		"without mean": {[]export.Model{one((*toy).unsure), one((*toy).unsure)}, "the class of the greatest mean needs probabilities beside it"},
	} {
		if _, err := ensembleOf(t, c.members...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
}

func (m *toy) onlyIDs() export.Signature {
	return export.Signature{Name: "predict", Kind: export.Predict, Outputs: []export.Named{{Name: "best", Output: m.best}}}
}

func (m *toy) unsure() export.Signature {
	s := m.voting()
	s.Outputs = slices.DeleteFunc(s.Outputs, func(o export.Named) bool { return o.Name == "probabilities" })
	return s
}

// TestEnsembleLeavesModels: the graphs of the members are not changed.
func TestEnsembleLeavesModels(t *testing.T) {
	m, other := newToy(), newToy()
	before := graph.Clone(m.b.Graph)
	if _, err := ensembleOf(t, m.model(m.graph(export.Parsing(), m.voting())), other.model(other.graph(export.Parsing(), other.voting()))); err != nil {
		t.Fatal(err)
	}
	for i, n := range m.b.Graph.Nodes() {
		if b := before.Nodes()[i]; n.Name != b.Name || n.Str("shared_name") != b.Str("shared_name") || len(n.Inputs) != len(b.Inputs) {
			t.Errorf("node %s was %s", n.Name, b.Name)
		}
	}
}
