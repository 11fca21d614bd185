package feature

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
)

// staff is a data set of five people. Some ages and jobs are missing.
func staff(t testing.TB) inputs.Dataset {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "job", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "level", Type: arrow.PrimitiveTypes.Int64}, {Name: "same", Type: arrow.PrimitiveTypes.Float32}, {Name: "none", Type: arrow.PrimitiveTypes.Float32}}, nil))
	nan := float32(math.NaN())
	b.Field(0).(*array.Float32Builder).AppendValues([]float32{20, 0, 40, nan, 60, 20}, []bool{true, false, true, true, true, true})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"nurse", "smith", "", "nurse", "baker", "smith"}, []bool{true, true, true, true, true, false})
	b.Field(2).(*array.Int64Builder).AppendValues([]int64{7, 7, -1, 3, 3, 7}, nil)
	b.Field(3).(*array.Float32Builder).AppendValues([]float32{5, 5, 5, 5, 5, 5}, nil)
	b.Field(4).(*array.Float32Builder).AppendValues([]float32{nan, nan, nan, nan, nan, nan}, nil)
	return inputs.Batch(4, false)(oneDataset(t, b.NewRecord()))
}

const toAdapt = `
- {type: numeric, key: age, missing: mean, normalize: {adapt: true}}
- {type: numeric, name: median age, key: age, missing: median}
- {type: numeric, name: usual age, key: age, missing: most_frequent, normalize: {scale: 10, adapt: true}}
- {type: bucketized, of: age, quantiles: 2}
- {type: bucketized, name: raw, of: median age, quantiles: 4}
- {type: vocabulary, key: job, adapt: true, oov_buckets: 1}
- {type: vocabulary, name: one job, key: job, adapt: true, size: 1}
- {type: vocabulary, name: two jobs, key: job, adapt: true, min_count: 2}
- {type: vocabulary, key: level, dtype: int64, adapt: true}
- {type: numeric, key: same, normalize: {adapt: true}}
- {type: numeric, key: none, missing: median, normalize: {adapt: true}}
- {type: indicator, of: job}
`

// TestAdapt: adapted settings follow from the data; missing values do not count.
func TestAdapt(t *testing.T) {
	specs := specsOf(t, toAdapt)
	got, err := Adapt(t.Context(), specs, staff(t))
	if err != nil {
		t.Fatal(err)
	}
	filled, err := got.Fill(specs)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got []float64, want ...float64) {
		t.Helper()
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("%s: got %v, expected %v", what, got, want)
		}
	}
	deviation := math.Sqrt((15*15 + 5*5 + 25*25 + 15*15) / 4.0) // of 20, 40, 60, 20 around 35
	near("mean", filled[0].Normalize.Mean, 35)
	near("deviation", filled[0].Normalize.Std, deviation)
	near("missing: mean", filled[0].Defaults, 35)
	near("missing: median", filled[1].Defaults, 20)
	near("missing: most_frequent", filled[2].Defaults, 20)
	near("mean of a scaled column", filled[2].Normalize.Mean, 3.5)
	near("half", filled[3].Boundaries, (40-35)/deviation)
	near("quarters", filled[4].Boundaries, 40, 60)
	near("mean of a constant", filled[9].Normalize.Mean, 5)
	near("deviation of a constant", filled[9].Normalize.Std, 1)
	near("mean of nothing", filled[10].Normalize.Mean, 0)
	near("deviation of nothing", filled[10].Normalize.Std, 1)
	near("median of nothing", filled[10].Defaults, 0)
	for i, want := range [][]string{{"nurse", "baker", "smith"}, {"nurse"}, {"nurse"}, {"7", "3"}} {
		if diff := cmp.Diff(want, filled[5+i].Vocabulary); diff != "" {
			t.Errorf("column %d: %s", 6+i, diff)
		}
	}
	if c := got.Columns[5]; c.Missing != 2 || !slices.Equal(c.Counts, []int64{2, 1, 1}) {
		t.Errorf("job: %d missing, counts %v, expected 2 and [2 1 1]", c.Missing, c.Counts)
	}
	if c := got.Columns[0]; c.Missing != 2 || got.Rows != 6 {
		t.Errorf("age: %d missing of %d, expected 2 of 6", c.Missing, got.Rows)
	}
	if _, err := Build(filled); err != nil {
		t.Error(err)
	}
}

// TestAdaptedBytes: the encoding in a checkpoint restores the columns, and damaged encodings are refused.
func TestAdaptedBytes(t *testing.T) {
	specs := specsOf(t, toAdapt)
	a, err := Adapt(t.Context(), specs, staff(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again Adapted
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	want, err := a.Fill(specs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Fill(specs)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	specs[0].Missing = missingMedian
	if _, err := again.Fill(specs); err == nil || !strings.Contains(err.Error(), "feature column 1 (numeric age) is not declared as it was") {
		t.Errorf("another declaration: %v", err)
	}
	if err := again.UnmarshalBinary(b[:len(b)/2]); err == nil {
		t.Error("half of the bytes: no error")
	}
	if _, err := Build(specs); err == nil || !strings.Contains(err.Error(), "Adapt computes it") {
		t.Errorf("columns that are not adapted: %v", err)
	}
}

// TestFilledNumbers: the default replaces nulls and NaN before anything else happens.
func TestFilledNumbers(t *testing.T) {
	c := &Numeric{Key: "age", Default: []float32{30}, FillNaN: true, Normalizer: Normalizer{Mean: []float32{20}, Std: []float32{10}}}
	plan, err := New(Columns{Dense: []Column{c}})
	if err != nil {
		t.Fatal(err)
	}
	nt := tensorOf(t, inputs.Project("age")(plan.Transform(1)(inputs.Batch(6, false)(staff(t)))))
	var got []float64
	for i := range nt.Tensor.Len() {
		got = append(got, nt.Tensor.Float(i))
	}
	if want := []float64{0, 1, 2, 1, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestAdaptRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"- {type: numeric, key: age, missing: middle}":                                              "missing must be mean, median, most_frequent, default or largest",
		"- {type: numeric, key: age, missing: largest, normalize: {adapt: true}}":                   "missing: largest excludes normalize",
		"- {type: numeric, key: age, missing: largest, normalize: {mean: [1], std: [0.5]}}":         "missing: largest excludes normalize",
		"- {type: numeric, key: age, missing: default}":                                             "nothing stands for it",
		"- {type: numeric, key: age, missing: mean, default: 3}":                                    "missing: mean excludes default",
		"- {type: numeric, key: age, normalize: {adapt: true, mean: [3]}}":                          "normalize.adapt excludes mean and std",
		"- {type: vocabulary, key: job, adapt: true, vocabulary: [a]}":                              "adapt excludes vocabulary",
		"- {type: vocabulary, key: job, adapt: true, min_count: 9}":                                 `no value of "job" occurs 9 times`,
		"- {type: words, key: job, adapt: true, min_count: 9}":                                      `no word of "job" occurs 9 times`,
		"- {type: numeric, key: age}\n- {type: bucketized, of: age, quantiles: 1}":                  "expected 2 to 4096, got 1",
		"- {type: numeric, key: same}\n- {type: bucketized, of: same, quantiles: 3}":                `no two different numbers of "same"`,
		"- {type: bucketized, of: age, quantiles: 3}":                                               "expected a numeric column that is declared before",
		"- {type: numeric, key: job, normalize: {adapt: true}}":                                     "expected numbers",
		"- {type: numeric, key: elsewhere, normalize: {adapt: true}}":                               "elsewhere",
		"- {type: numeric, key: age, sequence: true, missing: mean}":                                "a sequence is not adapted",
		"- {type: numeric, key: age, missing: mean, quantiles: 3}":                                  "quantiles says nothing",
		"- {type: numeric, key: age}\n- {type: bucketized, of: age, quantiles: 3, boundaries: [1]}": "quantiles exclude boundaries",
	} {
		specs := specsOf(t, text)
		a, err := Adapt(t.Context(), specs, staff(t))
		if err == nil {
			if specs, err = a.Fill(specs); err == nil {
				var set *Set
				if set, err = Build(specs); err == nil {
					_, err = New(Columns{Dense: set.list()})
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want one with %q", text, err, want)
		}
	}
}

func (s *Set) list() []Column {
	out, _ := s.Columns(s.Names()...)
	return out
}

// FuzzAdapted: damaged encodings are an error, or decode to columns that can be built or refused.
func FuzzAdapted(f *testing.F) {
	specs := specsOf(f, toAdapt)
	a, err := Adapt(f.Context(), specs, staff(f))
	if err != nil {
		f.Fatal(err)
	}
	b, err := a.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:100])
	f.Add([]byte(`{"columns":[{"filled":{"type":"vocabulary"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Adapted
		if a.UnmarshalBinary(data) != nil {
			return
		}
		if filled, err := a.Fill(specs); err == nil {
			if set, err := Build(filled); err == nil {
				_, _ = New(Columns{Linear: set.list()})
			}
		}
	})
}

// TestAdaptedText: a vocabulary that a checkpoint could not keep exactly is refused.
func TestAdaptedText(t *testing.T) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "town", Type: arrow.BinaryTypes.Binary}}, nil))
	b.Field(0).(*array.BinaryBuilder).AppendValues([][]byte{[]byte("K\xf6ln"), []byte("K\xe4ln")}, nil)
	_, err := Adapt(t.Context(), specsOf(t, "- {type: vocabulary, key: town, adapt: true}"), oneDataset(t, b.NewRecord()))
	if err == nil || !strings.Contains(err.Error(), `column "town": the value "K\xf6ln" is not UTF-8`) {
		t.Errorf("got %v", err)
	}
}

// unread is a data set that must not be read.
type unread struct {
	inputs.Dataset
	t *testing.T
}

func (u unread) Iterate(ctx context.Context) (inputs.Iterator, error) {
	u.t.Error("the data were read")
	return u.Dataset.Iterate(ctx)
}

// TestAdaptChecksFirst: declarations that no data could make valid are refused before the data is read.
func TestAdaptChecksFirst(t *testing.T) {
	for text, want := range map[string]string{
		"- {type: numeric, key: age, normalize: {adapt: true}}\n- {type: indicator, of: nothing}":        "feature column 2 (indicator nothing)",
		"- {type: numeric, key: age, normalize: {adapt: true}}\n- {type: hash_bucket, key: job}":         `column "job": `,
		"- {type: numeric, key: age, default: .nan, allow_nan: true, normalize: {adapt: true}}":          "must be finite",
		"- {type: numeric, key: age, normalize: {adapt: true, scale: .inf}}":                             "must be finite",
		"- {type: numeric, key: age, shape: [65], missing: median}":                                      "expected at most 64 numbers",
		"- {type: numeric, key: age, missing: middle}\n- {type: vocabulary, key: job, adapt: true}":      "missing must be mean",
		"- {type: vocabulary, key: job, adapt: true, default: 0, oov_buckets: 1, size: 5, min_count: 2}": "oov",
	} {
		if _, err := Adapt(t.Context(), specsOf(t, text), unread{staff(t), t}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want one with %q", text, err, want)
		}
	}
	if _, err := Adapt(t.Context(), specsOf(t, toAdapt), staff(t)); err != nil {
		t.Error(err)
	}
}

// TestQuantilesTurnedRound: dividing by a negative number does not change the number of buckets.
func TestQuantilesTurnedRound(t *testing.T) {
	specs := specsOf(t, "- {type: numeric, key: age, normalize: {mean: [0], std: [-1]}}\n- {type: bucketized, of: age, quantiles: 4}")
	a, err := Adapt(t.Context(), specs, staff(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Columns[0].Filled.Boundaries; !slices.Equal(got, []float64{-60, -40}) && !slices.Equal(got, []float64{-60, -40, -20}) {
		t.Errorf("got %v", got)
	}
}

// TestWideColumns: memory per number of an example is used only for what the declarations ask for.
func TestWideColumns(t *testing.T) {
	const width = 65
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.FixedSizeListOf(width, arrow.PrimitiveTypes.Float32)}}, nil))
	list := b.Field(0).(*array.FixedSizeListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Float32Builder).AppendValues(make([]float32, width), nil)
	ds := oneDataset(t, b.NewRecord())
	for how, want := range map[string]bool{missingMean: true, missingFrequent: true, missingMedian: false} {
		specs := specsOf(t, "- {type: numeric, key: x, missing: "+how+"}")
		_, err := Adapt(t.Context(), specs, ds)
		if (err == nil) != want {
			t.Errorf("%s of %d numbers: %v", how, width, err)
		}
		stats, _ := statisticsFor(specs, ds.Schema())
		_, _ = stats.read(t.Context(), ds)
		n := stats.numbers("x", Reading{})
		if len(n.sketches) > 0 || (len(n.counts) > 0) != (how == missingFrequent) {
			t.Errorf("%s: %d sketches and %d counters", how, len(n.sketches), len(n.counts))
		}
	}
}

func TestAdaptedKeys(t *testing.T) {
	if got, want := AdaptedKeys(specsOf(t, toAdapt)), []string{"age", "job", "level", "same", "none"}; !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
	if got := AdaptedKeys(specsOf(t, "- {name: a, type: numeric, key: x}\n- {type: bucketized, of: a, quantiles: 4}")); !slices.Equal(got, []string{"x"}) {
		t.Errorf("got %v, expected x", got)
	}
}
