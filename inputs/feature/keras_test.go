package feature

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

type goldenKeras struct {
	Words []string
	Ints  []int64
	Cases []struct {
		Layer, Input string
		Shape        []int
		Values       []float64
		OOV, Bins    int
		Mode         OutputMode
		Mask, Salt   json.RawMessage
	}
	Encoding struct {
		IDs      [][]int64
		Depth    int
		MultiHot [][]float32 `json:"multi_hot"`
		Count    [][]float32
		OneHot   [][]float32 `json:"one_hot"`
	}
	Normalization struct{ X, Mean, Variance, Y []float32 }
	Adapt         struct {
		Text       []string
		Vocabulary []string
	}
	AdaptInts struct{ Ints, Vocabulary []int64 } `json:"adapt_ints"`
	AdaptMax  struct {
		Max        int
		Vocabulary []string
	} `json:"adapt_max"`
}

// oneColumn is a record of one column.
func oneColumn(name string, a arrow.Array) arrow.Record {
	return array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: name, Type: a.DataType(), Nullable: true}}, nil), []arrow.Array{a}, int64(a.Len()))
}

func oneDataset(t testing.TB, rec arrow.Record) inputs.Dataset {
	t.Helper()
	s, err := inputs.SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	ds, err := inputs.Records(s, []arrow.Record{rec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// through returns the output of layers for a column, as numbers.
func through(t testing.TB, a arrow.Array, layers ...Layer) []float64 {
	t.Helper()
	nt := tensorOf(t, inputs.Map(Preprocess("x", layers...))(oneDataset(t, oneColumn("x", a))))
	out := make([]float64, nt.Tensor.Len())
	for i := range out {
		out[i] = nt.Tensor.Float(i)
	}
	return out
}

func tensorOf(t testing.TB, ds inputs.Dataset) inputs.NamedTensor {
	t.Helper()
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return tensors[0]
}

func optional[T any](t *testing.T, raw json.RawMessage) *T {
	t.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoldenKerasLayers(t *testing.T) {
	g := readGolden(t).Keras
	for i, c := range g.Cases {
		f := goldenFeature{Strings: g.Words}
		if c.Input == "ints" {
			f = goldenFeature{Ints: g.Ints}
		}
		var l Layer
		switch c.Layer {
		case "StringLookup":
			l = &StringLookup{Vocabulary: []string{"a", "b", "dog"}, OOV: c.OOV, Mask: optional[string](t, c.Mask), Mode: c.Mode}
		case "IntegerLookup":
			l = &IntegerLookup{Vocabulary: []int64{1, 2, 42}, OOV: c.OOV, Mask: optional[int64](t, c.Mask), Mode: c.Mode}
		case "Hashing":
			h := &Hashing{Bins: c.Bins}
			if string(c.Salt) == "99" { // one number is used for both
				c.Salt = json.RawMessage("[99,99]")
			}
			h.Salt = optional[[2]uint64](t, c.Salt)
			if mask := strings.Trim(string(c.Mask), `"`); mask != "null" {
				h.Mask = &mask
			}
			l = h
		}
		got := through(t, f.array(t), l)
		if diff := cmp.Diff(c.Values, got); diff != "" {
			t.Errorf("case %d, %v of %s (-want +got):\n%s", i, l, c.Input, diff)
		}
	}
}

func TestGoldenCategoryEncoding(t *testing.T) {
	g := readGolden(t).Keras.Encoding
	var f goldenFeature
	f.Width = len(g.IDs[0])
	for _, row := range g.IDs {
		f.Ints = append(f.Ints, row...)
	}
	for mode, want := range map[OutputMode][][]float32{MultiHot: g.MultiHot, Count: g.Count, OneHot: g.OneHot} {
		f := f
		if mode == OneHot {
			f = goldenFeature{Ints: []int64{0, 3, 4}}
		}
		got := through(t, f.array(t), &CategoryEncoding{Tokens: g.Depth, Mode: mode})
		var flat []float64
		for _, row := range want {
			flat = append(flat, convert[float64](row)...)
		}
		if diff := cmp.Diff(flat, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

func TestGoldenNormalization(t *testing.T) {
	g := readGolden(t).Keras.Normalization
	a := goldenFeature{Floats: g.X, Width: 3}.array(t)
	l := &Normalization{}
	ds := inputs.Batch(7, false)(oneDataset(t, oneColumn("x", a)))
	if err := l.Adapt(context.Background(), ds, "x"); err != nil {
		t.Fatal(err)
	}
	for j := range g.Mean {
		// TensorFlow merges moments of batches in float32: looser for the variance.
		if d := l.Variance[j] - g.Variance[j]; !near(l.Mean[j], g.Mean[j]) || d > 1e-3 || d < -1e-3 {
			t.Errorf("number %d: mean %v, variance %v, want %v and %v", j, l.Mean[j], l.Variance[j], g.Mean[j], g.Variance[j])
		}
	}
	for i, y := range through(t, a, &Normalization{Mean: g.Mean, Variance: g.Variance}) {
		if !near(float32(y), g.Y[i]) {
			t.Errorf("number %d: %v, want %v", i, y, g.Y[i])
		}
	}
}

// TestNormalizationByOneMean: a single mean and variance apply to all numbers of an example.
func TestNormalizationByOneMean(t *testing.T) {
	got := through(t, goldenFeature{Floats: []float32{1, 2, 3, 5, 1, 3}, Width: 3}.array(t), &Normalization{Mean: []float32{3}, Variance: []float32{4}})
	if want := []float64{-1, -0.5, 0, 1, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestGoldenAdapt(t *testing.T) {
	g := readGolden(t).Keras
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(g.Adapt.Text, nil)
	words := oneDataset(t, oneColumn("x", b.NewArray()))
	ints := oneDataset(t, oneColumn("x", goldenFeature{Ints: g.AdaptInts.Ints}.array(t)))
	ctx := context.Background()
	l, limited, numbers := &StringLookup{}, &StringLookup{}, &IntegerLookup{}
	for _, err := range []error{l.Adapt(ctx, words, "x", 0), limited.Adapt(ctx, words, "x", g.AdaptMax.Max), numbers.Adapt(ctx, ints, "x", 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(g.Adapt.Vocabulary[1:], l.Vocabulary); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(g.AdaptMax.Vocabulary[1:], limited.Vocabulary); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(g.AdaptInts.Vocabulary[1:], numbers.Vocabulary); diff != "" {
		t.Error(diff)
	}
}

func TestLayersRefuse(t *testing.T) {
	strs := goldenFeature{Strings: []string{"YQ==", "Yg=="}}.array(t)
	ints := goldenFeature{Ints: []int64{1, 7}}.array(t)
	large := array.NewUint64Builder(memory.DefaultAllocator)
	large.AppendValues([]uint64{math.MaxInt64, math.MaxInt64 + 1}, nil)
	three := goldenFeature{Floats: []float32{1, 2, 3}, Width: 3}.array(t)
	for _, c := range []struct {
		a    arrow.Array
		l    Layer
		want string
	}{
		{strs, &StringLookup{}, "no vocabulary"},
		{strs, &StringLookup{Vocabulary: []string{"a", "a"}}, `entry "a" occurs twice`},
		{strs, &StringLookup{Vocabulary: []string{"a"}, OOV: -1}, `column "x", row 2: value "b": not in the vocabulary`},
		{strs, &IntegerLookup{Vocabulary: []int64{1}}, "expected integers"},
		{large.NewArray(), &IntegerLookup{Vocabulary: []int64{1}}, "value 9223372036854775808 (number 1 of its batch) does not fit int64"},
		{three, &Normalization{Mean: []float32{1, 2}, Variance: []float32{1, 1}}, "2 means and 2 variances: expected as many of both, one or 3"},
		{strs, &Normalization{Mean: []float32{1}, Variance: []float32{1}}, "expected numbers"},
		{strs, &Hashing{}, "bins must be at least 1"},
		{strs, &Hashing{Bins: 3, Mode: "x"}, `got "x"`},
		{ints, &CategoryEncoding{Tokens: 5}, `column "x", row 2: value 7: expected an id in [0, 5)`},
		{ints, &Normalization{Mean: []float32{1}}, "1 means and 0 variances"},
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
	err := (&StringLookup{}).Adapt(context.Background(), oneDataset(t, oneColumn("x", ints)), "y", 0)
	if err == nil || !strings.Contains(err.Error(), `unknown column "y"`) {
		t.Errorf("adapt: %v", err)
	}
	var row *inputs.RowError
	_, err = callLayer(&CategoryEncoding{Tokens: 2}, inputs.Column{Name: "x", DType: tensor.Int64}, ints, 100)
	if !errors.As(err, &row) || row.Row != 101 {
		t.Errorf("error %v, want row 101", err)
	}
}
