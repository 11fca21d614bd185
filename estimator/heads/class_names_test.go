package heads_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// TestClassNames: if labels are ids, predictions have names in addition, and labels stay ids.
func TestClassNames(t *testing.T) {
	two, three := heads.WithClassNames("no", "yes"), heads.WithClassNames("3", "4", "8")
	for _, c := range []struct {
		name    string
		head    heads.Head
		logits  []float32
		labels  inputs.NamedTensor
		ids     []int64 // nil: none
		classes []string
		all     []string
	}{
		{"binary", made(heads.BinaryClass(two)), []float32{-1, 2}, inputs.Slice("y", inputs.Label, []int64{0, 1}),
			[]int64{0, 1}, []string{"no", "yes"}, []string{"no", "yes"}},
		{"multi-class", made(heads.MultiClass(3, three)), []float32{0, 1, 2, 5, 0, 0}, inputs.Slice("y", inputs.Label, []int64{2, 0}),
			[]int64{2, 0}, []string{"8", "3"}, []string{"3", "4", "8"}},
		{"multi-label", made(heads.MultiLabel(3, three)), []float32{0, 1, 2, 5, 0, 0}, inputs.Slice("y", inputs.Label, []int64{1, 0, 1, 0, 0, 1}, 3),
			nil, []string{"3", "4", "8", "3", "4", "8"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := batchesOf(2, inputs.Slice("logits", inputs.Feature, c.logits, len(c.logits)/2), c.labels)
			e := openHead(t, c.head)
			var ids []int64
			var classes []string
			for p, err := range e.Predict(t.Context(), in) {
				if err != nil {
					t.Fatal(err)
				}
				classes = append(classes, texts(p.Get("classes"))...)
				if c.ids != nil {
					ids = append(ids, tensor.Values[int64](p.Get("class_ids"))...)
				}
				if c.all != nil && !slices.Equal(texts(p.Get("all_classes")), c.all) {
					t.Errorf("all_classes are %q, expected %q", texts(p.Get("all_classes")), c.all)
				}
			}
			if !slices.Equal(ids, c.ids) || !slices.Equal(classes, c.classes) {
				t.Errorf("predicted %v %q, expected %v %q", ids, classes, c.ids, c.classes)
			}
			if res, err := e.Evaluate(context.Background(), in); err != nil {
				t.Error(err)
			} else if a, ok := res.Scalar("accuracy"); ok && a != 1 {
				t.Errorf("accuracy %g, expected 1", a)
			}
		})
	}
}

// TestClassNamesOfSeveralHeads: each head of several has the names of its own classes.
func TestClassNamesOfSeveralHeads(t *testing.T) {
	sick := made(heads.BinaryClass(heads.WithName("sick"), heads.WithClassNames("no", "yes")))
	kind := made(heads.MultiClass(3, heads.WithName("kind"), heads.WithClassNames("3", "4", "8")))
	in := batchesOf(2, inputs.Slice("logits", inputs.Feature, []float32{-1, 0, 1, 2, 3, 5, 0, 0}, 4),
		inputs.Slice("sick", inputs.Label, []int64{0, 1}), inputs.Slice("kind", inputs.Label, []int64{2, 0}))
	got := map[string][]string{}
	for p, err := range openHead(t, made(heads.Multi(sick, kind))).Predict(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"sick/classes", "sick/all_classes", "kind/classes", "kind/all_classes"} {
			got[name] = append(got[name], texts(p.Get(name))...)
		}
	}
	want := map[string][]string{"sick/classes": {"no", "yes"}, "sick/all_classes": {"no", "yes", "no", "yes"},
		"kind/classes": {"8", "3"}, "kind/all_classes": {"3", "4", "8", "3", "4", "8"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

// TestClassMetricsByClassName: metrics of single classes have the names of the classes.
func TestClassMetricsByClassName(t *testing.T) {
	h := made(heads.MultiLabel(2, heads.WithClassNames("cat", "dog"), heads.WithClassMetricsByName("dog")))
	res, err := openHead(t, h).Evaluate(context.Background(), batchesOf(2, inputs.Slice("logits", inputs.Feature, []float32{0, 0, 0, 0}, 2),
		inputs.Slice("y", inputs.Label, []int64{1, 0, 0, 1}, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := res.Scalar("probability_mean/dog"); !ok || p != 0.5 {
		t.Errorf("probability_mean/dog is %g, %t: expected 0.5", p, ok)
	}
}

// TestClassNamesOfSteps: the classes of steps have names, too.
func TestClassNamesOfSteps(t *testing.T) {
	h := made(heads.Sequential(made(heads.MultiClass(3, heads.WithClassNames("a", "b", "c"))), "mask"))
	e := open(t, func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		return h.Spec(mc, heads.Inputs{Features: f, Labels: l, Logits: f.Dense("logits"), Optimizer: sgd(0.1)})
	})
	in := batchesOf(1, inputs.Slice("logits", inputs.Feature, []float32{0, 0, 1, 2, 0, 0}, 2, 3), inputs.Slice("mask", inputs.Feature, []bool{true, true}, 2))
	for p, err := range e.Predict(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(p.Get("classes")); !slices.Equal(got, []string{"c", "a"}) {
			t.Errorf("classes are %q, expected c and a", got)
		}
	}
}

func texts(x *tensor.Tensor) []string {
	out := make([]string, len(x.Strings))
	for i, s := range x.Strings {
		out[i] = string(s)
	}
	return out
}
