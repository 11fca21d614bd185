package feature

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// wideAndDeep has the columns of variables() of testdata/generate.py.
func wideAndDeep() Columns {
	job, task := &HashBucket{Key: "job", Size: 10}, &HashBucket{Key: "task", Size: 10}
	two := &Numeric{Key: "two", Shape: []int{2}}
	ages := &Bucketized{Of: &Numeric{Key: "age"}, Boundaries: []float64{1, 2}}
	sex := &Vocabulary{Key: "sex", Values: []string{"f", "m"}}
	return Columns{
		Linear: []Column{job, two, ages, &Crossed{Of: []Column{Key("job"), ages}, Size: 20}, &Weighted{Of: sex, WeightKey: "w"}},
		Dense: append([]Column{two, ages, &Indicator{Of: sex}, &Embedding{Of: job, Dimension: 3}},
			SharedEmbeddings([]Categorical{job, task}, Embedding{Dimension: 4})...),
	}
}

// TestVariablesAreTensorFlows: names and shapes agree with a checkpoint of
// tf.estimator's wide and deep model.
func TestVariablesAreTensorFlows(t *testing.T) {
	plan, err := New(wideAndDeep())
	if err != nil {
		t.Fatal(err)
	}
	linear, err := plan.Linear(1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int{LinearScope + "/bias_weights": {1}}
	for _, in := range linear {
		got[in.Kernel.In(LinearScope)] = in.Kernel.Shape
	}
	for _, in := range plan.Dense() {
		if in.Table != nil {
			got[in.Table.In(DenseScope)] = in.Table.Shape
		}
	}
	want := map[string][]int{}
	all := readGolden(t).Variables
	for name, shape := range all {
		if cmp.Equal(shape, []int{}) || name[:8] == "training" || name == "dnn/hiddenlayer_0/kernel" || name == "dnn/hiddenlayer_0/bias" || name[:6] == "dnn/lo" {
			continue
		}
		want[name] = shape
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables differ (-tf +got):\n%s", diff)
	}
	if w := Width(plan.Dense()); w != all["dnn/hiddenlayer_0/kernel"][0] {
		t.Errorf("dense width %d, want %d", w, all["dnn/hiddenlayer_0/kernel"][0])
	}
}

func TestSameNameDifferentColumns(t *testing.T) {
	// A model may hash a feature for its linear part and look it up for its dense one.
	plan, err := New(Columns{
		Linear: []Column{&HashBucket{Key: "job", Size: 10}},
		Dense:  []Column{&Embedding{Of: &Vocabulary{Key: "job", Values: []string{"a"}}, Dimension: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	linear, err := plan.Linear(1)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := linear[0].Values, plan.Dense()[0].Values; a == b {
		t.Errorf("both read %q", a)
	}
}

func TestEqualColumnsShareAnOutput(t *testing.T) {
	job := func() Categorical { return &HashBucket{Key: "job", Size: 10} }
	plan, err := New(Columns{Linear: []Column{job()}, Dense: []Column{&Embedding{Of: job(), Dimension: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.outputs) != 1 {
		t.Errorf("%d outputs, want 1", len(plan.outputs))
	}
}

func TestExampleSpecs(t *testing.T) {
	plan, err := New(wideAndDeep())
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.ExampleSpecs()
	if err != nil {
		t.Fatal(err)
	}
	want := []ExampleSpec{
		{Key: "age", DType: tensor.Float32, Shape: []int{1}},
		{Key: "job", DType: tensor.String, VarLen: true},
		{Key: "sex", DType: tensor.String, VarLen: true},
		{Key: "task", DType: tensor.String, VarLen: true},
		{Key: "two", DType: tensor.Float32, Shape: []int{2}},
		{Key: "w", DType: tensor.Float32, VarLen: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	plan, err = New(Columns{Linear: []Column{&Numeric{Key: "x"}}, Dense: []Column{&Indicator{Of: &Identity{Key: "x", Size: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.ExampleSpecs(); err == nil {
		t.Error("no error though a feature is parsed in two ways")
	}
}

// TestVocabularyFilesByContent: a plan's description, part of an iterator's state,
// depends on the content of a vocabulary file, not on its path.
func TestVocabularyFilesByContent(t *testing.T) {
	describe := func(text string) string {
		plan, err := New(Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, text)}}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Mapper().Name
	}
	if a, b := describe("a\nb\n"), describe("a\nb"); a != b {
		t.Errorf("moved: %q became %q", a, b)
	}
	if a, b := describe("a\nb\n"), describe("a\nc\n"); a == b {
		t.Errorf("other entries, but still %q", a)
	}
}
