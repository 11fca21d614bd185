package feature

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
)

// goldenLayers is what testdata/layers.py printed.
//
//go:embed testdata/layers.json
var goldenLayers []byte

type layersFile struct {
	Input []string
	Texts []struct {
		Standardize Standardize
		Split       Split
		NGrams      []int
		Mode        OutputMode
		Max, Length int
		Vocabulary  []string
		Values      []any
	}
	Numbers struct {
		X       []float32
		Adapted []struct {
			Bins       int
			Epsilon    float64
			Boundaries []float64
		}
		Modes map[OutputMode][][]float64
	}
	Crosses struct {
		A    []string
		B    []int64
		Bins int
		IDs  [][]int64
	}
}

func readLayers(t *testing.T) (f layersFile) {
	t.Helper()
	if err := json.Unmarshal(goldenLayers, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// flat appends the numbers of nested lists.
func flat(to []float64, x any) []float64 {
	switch x := x.(type) {
	case float64:
		to = append(to, x)
	case []any:
		for _, v := range x {
			to = flat(to, v)
		}
	}
	return to
}

func stringsOf(list []string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(list, nil)
	return b.NewArray()
}

// TestGoldenTextVectorization: Keras adapts the same vocabularies and computes the same ids and vectors.
func TestGoldenTextVectorization(t *testing.T) {
	f := readLayers(t)
	texts := stringsOf(f.Input)
	for i, c := range f.Texts {
		l := &TextVectorization{Standardize: c.Standardize, Split: c.Split, NGrams: c.NGrams, Mode: c.Mode, Length: c.Length}
		if err := l.Adapt(context.Background(), oneDataset(t, oneColumn("x", texts)), "x", c.Max); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l.Vocabulary, c.Vocabulary) {
			t.Errorf("case %d, %v: vocabulary %q, expected %q", i, l, l.Vocabulary, c.Vocabulary)
			continue
		}
		got, want := through(t, texts, l), flat(nil, c.Values)
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }
		if !slices.EqualFunc(got, want, near) {
			t.Errorf("case %d, %v:\ngot      %v\nexpected %v", i, l, got, want)
		}
	}
}

// TestGoldenDiscretization: Keras adapts the same boundaries and computes the same bins.
func TestGoldenDiscretization(t *testing.T) {
	f := readLayers(t).Numbers
	ds := inputs.Batch(128, false)(oneDataset(t, oneColumn("x", goldenFeature{Floats: f.X}.array(t))))
	for _, c := range f.Adapted {
		l := &Discretization{}
		if err := l.Adapt(context.Background(), ds, "x", c.Bins, c.Epsilon); err != nil {
			t.Fatal(err)
		}
		near := func(a float32, b float64) bool { return math.Abs(float64(a)-b) <= 1e-5 }
		if !slices.EqualFunc(l.Boundaries, c.Boundaries, near) {
			t.Errorf("%d bins: %v, expected %v", c.Bins, l.Boundaries, c.Boundaries)
		}
	}
	x := []float32{-1.5, 0, 0.5, 1, 1.2, 3}
	for mode, rows := range f.Modes {
		a := goldenFeature{Floats: x}
		if mode == MultiHot || mode == Count {
			a.Width = 3
		}
		var want []float64
		for _, row := range rows {
			want = append(want, row...)
		}
		if got := through(t, a.array(t), &Discretization{Boundaries: []float32{0, 0.5, 1}, Mode: mode}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", mode, got, want)
		}
	}
}

// TestGoldenHashedCrossing: a cross of the keys has the ids of Keras' HashedCrossing.
func TestGoldenHashedCrossing(t *testing.T) {
	f := readLayers(t).Crosses
	plan, err := New(Columns{Linear: []Column{&Crossed{Of: []Column{Key("a"), Key("b")}, Size: f.Bins}}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := stringsOf(f.A), goldenFeature{Ints: f.B}.array(t)
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "a", Type: a.DataType()}, {Name: "b", Type: b.DataType()}}, nil), []arrow.Array{a, b}, int64(len(f.A)))
	out, err := plan.Apply(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	got := out.Column(0).(*array.List).ListValues().(*array.Int64).Int64Values()
	if want := slices.Concat(f.IDs...); !slices.Equal(got, want) {
		t.Errorf("ids %v, expected %v", got, want)
	}
}

// TestTextsOfAnyBytes: for any bytes, a list has Length ids, and all ids are in the vocabulary.
func TestTextsOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.StringMatching(`[aB ,\x00é\t\xff]{0,9}`), 1, 4).Draw(rt, "texts")
		l := &TextVectorization{Vocabulary: []string{"a", "b", "a b"}, Split: rapid.SampledFrom([]Split{Whitespace, Character, WholeText}).Draw(rt, "split"),
			NGrams: rapid.SampledFrom([][]int{nil, {2}, {1, 9}}).Draw(rt, "ngrams"), Length: rapid.IntRange(1, 5).Draw(rt, "length")}
		got := through(t, stringsOf(list), l)
		if len(got) != len(list)*l.Length {
			rt.Fatalf("%d ids of %d texts, expected %d each", len(got), len(list), l.Length)
		}
		for _, id := range got {
			if id < 0 || id > 4 {
				rt.Fatalf("id %v, expected one in [0, 5)", id)
			}
		}
	})
}

func TestNewLayersRefuse(t *testing.T) {
	texts, numbers := stringsOf([]string{"a b"}), goldenFeature{Floats: []float32{1, float32(math.NaN())}}.array(t)
	two := goldenFeature{Floats: []float32{1, 2}}.array(t)
	for _, c := range []struct {
		a    arrow.Array
		l    Layer
		want string
	}{
		{texts, &TextVectorization{}, "no vocabulary"},
		{texts, &TextVectorization{Vocabulary: []string{""}}, "is empty"},
		{texts, &TextVectorization{Vocabulary: []string{"a", "a"}}, "occurs twice"},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, Standardize: "x"}, `got "x"`},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, Split: "x"}, `got "x"`},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, NGrams: []int{0}}, "length of at least 1, got 0"},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, Mode: OneHot}, `got "one_hot"`},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, Mode: TFIDF}, "0 inverse document frequencies of 1 entries"},
		{texts, &TextVectorization{Vocabulary: []string{"a"}, Mode: Count, Length: 2}, "of the mode int alone"},
		{two, &TextVectorization{Vocabulary: []string{"a"}}, "expected one text an example"},
		{numbers, &Discretization{Boundaries: []float32{1}}, "row 2: value NaN: not a number"},
		{two, &Discretization{}, "no boundaries"},
		{two, &Discretization{Boundaries: []float32{1, 1}}, "increase strictly"},
		{texts, &Discretization{Boundaries: []float32{1}}, "expected numbers"},
	} {
		ds := inputs.Map(Preprocess("x", c.l))(oneDataset(t, oneColumn("x", c.a)))
		it, err := ds.Iterate(context.Background())
		if err == nil {
			_, err = it.Next(context.Background())
			it.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.l, err, c.want)
		}
	}
	for want, err := range map[string]error{
		"at least 2 bins":           (&Discretization{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", two)), "x", 1, 0),
		"an epsilon above 0":        (&Discretization{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", two)), "x", 2, 2),
		"not a number":              (&Discretization{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", numbers)), "x", 2, 0),
		"max_tokens must be":        (&TextVectorization{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", texts)), "x", 2),
		"expected strings":          (&TextVectorization{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", two)), "x", 0),
		`split must be`:             (&TextVectorization{Split: "x"}).Adapt(context.Background(), oneDataset(t, oneColumn("x", texts)), "x", 0),
		fmt.Sprint(inputs.ErrEmpty): (&TextVectorization{NGrams: []int{3}}).Adapt(context.Background(), oneDataset(t, oneColumn("x", texts)), "x", 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("adapt: error %v, want one with %q", err, want)
		}
	}
}
