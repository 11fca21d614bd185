package feature

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "vocabulary.txt")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestColumnsRefused(t *testing.T) {
	job := &HashBucket{Key: "job", Size: 10}
	age := &Numeric{Key: "age"}
	var none *HashBucket
	loop := &Crossed{Size: 5}
	loop.Of = []Column{Key("a"), loop}
	id := func(i int) *int { return &i }
	for _, c := range []struct {
		columns Columns
		want    string
	}{
		{Columns{}, "no feature columns"},
		{Columns{Linear: []Column{nil}}, "is nil"},
		{Columns{Linear: []Column{none}}, "is nil"},
		{Columns{Dense: []Column{&Embedding{Dimension: 3}}}, "is nil"},
		{Columns{Dense: []Column{&Bucketized{Boundaries: []float64{1}}}}, "is nil"},
		{Columns{Linear: []Column{loop}}, "a part of itself"},
		{Columns{Dense: []Column{job}}, `column "job": hash_bucket(job, 10) has no dense form: wrap it`},
		{Columns{Linear: []Column{job, &Identity{Key: "job", Size: 3}}}, `two columns are named "job"`},
		{Columns{Linear: []Column{&HashBucket{Key: "job"}}}, "buckets must be at least 1, got 0"},
		{Columns{Linear: []Column{&HashBucket{Size: 4}}}, "no key"},
		{Columns{Linear: []Column{&HashBucket{Key: "x", Size: 4, DType: tensor.Float32}}}, "got float32"},
		{Columns{Linear: []Column{job}, LinearCombiner: "max"}, `got "max"`},
		{Columns{Dense: []Column{&Numeric{Key: "a", Shape: []int{0}}}}, "shape must have positive dimensions"},
		{Columns{Dense: []Column{&Numeric{Key: "a", Default: []float32{1, 2}}}}, "default has 2 values, expected 1"},
		{Columns{Dense: []Column{&Numeric{Key: "a", Normalizer: Normalizer{Std: []float32{0}}}}}, "std must not be 0"},
		{Columns{Dense: []Column{&Numeric{Key: "a", Normalizer: Normalizer{Func: func([]float32) {}}}}}, "needs a name"},
		{Columns{Linear: []Column{&Bucketized{Of: age}}}, "no boundaries"},
		{Columns{Linear: []Column{&Bucketized{Of: age, Boundaries: []float64{1, 3, 3}}}}, "boundaries must increase strictly, got 3 after 3 at place 2"},
		{Columns{Linear: []Column{&Bucketized{Of: &Numeric{Key: "m", Shape: []int{2, 2}}, Boundaries: []float64{1}}}}, "expected a numeric column of one dimension"},
		{Columns{Linear: []Column{&Vocabulary{Key: "v", Values: []string{"a", "b", "a"}}}}, `entry "a" occurs twice, at places 0 and 2`},
		{Columns{Linear: []Column{&Vocabulary{Key: "v", Ints: []int64{1, 1}}}}, "entry 1 occurs twice"},
		{Columns{Linear: []Column{&Vocabulary{Key: "v"}}}, "got 0 and 0 entries"},
		{Columns{Linear: []Column{&Vocabulary{Key: "v", Values: []string{"a"}, Default: id(0), OOVBuckets: 1}}}, "exclude each other"},
		{Columns{Linear: []Column{&Vocabulary{Key: "v", Values: []string{"a"}, Default: id(1)}}}, "default must lie in [-1, 1), got 1"},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: "/none/here"}}}, "no such file"},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, "a\nb\na\n")}}}, `entry "a" occurs twice, in lines 1 and 3`},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, "a\n"), Size: 2}}}, "1 lines, expected at least 2"},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, "a\n\nb\n")}}}, "line 2 is empty"},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, "")}}}, "no entries"},
		{Columns{Linear: []Column{&VocabularyFile{Key: "v", File: file(t, "1\nx\n"), DType: tensor.Int64}}}, `entry 1: "x" is not an integer`},
		{Columns{Linear: []Column{&Identity{Key: "i", Size: 3, Default: id(3)}}}, "default must lie in [0, 3), got 3"},
		{Columns{Linear: []Column{&Crossed{Of: []Column{Key("a")}, Size: 3}}}, "at least 2 parts"},
		{Columns{Linear: []Column{&Crossed{Of: []Column{Key("a"), job}, Size: 3}}}, "hashed once and not twice"},
		{Columns{Linear: []Column{&Crossed{Of: []Column{Key("a"), age}, Size: 3}}}, "cannot be crossed"},
		{Columns{Linear: []Column{&Weighted{Of: &Sequence{Of: job}, WeightKey: "w"}}}, "cannot be weighted"},
		{Columns{Linear: []Column{&Sequence{Of: job}}}, "move it to the sequence columns"},
		{Columns{Sequence: []Column{&Embedding{Of: job, Dimension: 2}}}, "is no sequence"},
		{Columns{Dense: []Column{&Embedding{Of: &Sequence{Of: job}, Dimension: 2}}}, "move it to the sequence columns"},
		{Columns{Dense: []Column{&SequenceNumeric{Key: "s"}}}, "move it to the sequence columns"},
		{Columns{Dense: []Column{&Embedding{Of: job}}}, "dimension must be at least 1"},
		{Columns{Dense: []Column{&Embedding{Of: job, Dimension: 2, MaxNorm: math.NaN()}}}, "max_norm and stddev"},
		{Columns{Dense: []Column{&Embedding{Of: job, Dimension: 2, Tensor: "t"}}}, "give both or neither"},
		{Columns{Dense: SharedEmbeddings([]Categorical{job, &HashBucket{Key: "b", Size: 11}}, Embedding{Dimension: 2})}, "differ in buckets (11 and 10)"},
	} {
		_, err := New(c.columns)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// badRows is a record with a null, a NaN, an id that is too large and a number that cannot be an id.
func badRows() arrow.Record {
	mem := memory.DefaultAllocator
	x, i, s := array.NewFloat32Builder(mem), array.NewInt64Builder(mem), array.NewStringBuilder(mem)
	x.AppendValues([]float32{1, 2, float32(math.NaN())}, nil)
	i.AppendValues([]int64{1, 9, -4}, nil)
	s.AppendValues([]string{"a", "b", ""}, []bool{true, false, true})
	w := array.NewListBuilder(mem, arrow.PrimitiveTypes.Float32)
	for _, row := range [][]float32{{1}, {1, 2}, {}} {
		w.Append(true)
		w.ValueBuilder().(*array.Float32Builder).AppendValues(row, nil)
	}
	u := array.NewUint64Builder(mem)
	u.AppendValues([]uint64{0, math.MaxInt64, math.MaxInt64 + 1}, nil)
	arrays := []arrow.Array{x.NewArray(), i.NewArray(), s.NewArray(), w.NewArray(), u.NewArray()}
	var fields []arrow.Field
	for k, name := range []string{"x", "i", "s", "w", "u"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrays[k].DataType(), Nullable: true})
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, 3)
}

func TestRowsRefused(t *testing.T) {
	rec := badRows()
	for _, c := range []struct {
		column Column
		row    int64 // -1: the error is not of a row
		want   string
	}{
		{&Numeric{Key: "x"}, 2, `column "x", row 3: value NaN: not a number`},
		{&Bucketized{Of: &Numeric{Key: "x"}, Boundaries: []float64{0}}, 2, "value NaN"},
		{&Numeric{Key: "i", Normalizer: Normalizer{Log: true}}, 2, "value -4: the normalizer makes it NaN"},
		{&Identity{Key: "i", Size: 9}, 1, `column "i", row 2: value 9: expected an id below 9`},
		{&Weighted{Of: &HashBucket{Key: "s", Size: 5}, WeightKey: "w"}, 1, `column "s_weighted_by_w", row 2: 0 ids but 2 weights`},
		{&HashBucket{Key: "nothing", Size: 5}, -1, `unknown column "nothing": the data has x, i, s, w, u`},
		{&HashBucket{Key: "i", Size: 5}, -1, `feature "i": expected strings, the data has i int64`},
		{&HashBucket{Key: "s", Size: 5, DType: tensor.Int64}, -1, `feature "s": expected integers`},
		{&Numeric{Key: "s"}, -1, `feature "s": expected numbers`},
		{&Numeric{Key: "x", Shape: []int{3}}, -1, `feature "x": expected shape [3]`},
		{&Numeric{Key: "w"}, -1, `feature "w": expected shape [1], the data has w float32[...]`},
		{&Crossed{Of: []Column{Key("s"), Key("i")}, Size: 5}, -1, `"s" has null values`},
		{&Crossed{Of: []Column{Key("i"), Key("u")}, Size: 5}, -1, `feature "u": value 9223372036854775808 (number 2 of its batch) does not fit int64`},
	} {
		plan, err := New(Columns{Linear: []Column{c.column}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Apply(context.Background(), rec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.column, err, c.want)
		}
		var row *inputs.RowError
		if errors.As(err, &row) != (c.row >= 0) || row != nil && row.Row != c.row {
			t.Errorf("%v: error %#v, want one of row %d", c.column, err, c.row)
		}
	}
}

// An infinite number is refused if a model would compute with it; a bucket takes it.
func TestInfiniteNumbers(t *testing.T) {
	b := array.NewFloat32Builder(memory.DefaultAllocator)
	b.AppendValues([]float32{1, 0, float32(math.Inf(-1))}, nil)
	x := b.NewArray()
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: x.DataType()}}, nil), []arrow.Array{x}, 3)
	for _, c := range []struct {
		column Column
		want   string // "": no error
	}{
		{&Numeric{Key: "x"}, `column "x", row 3: value -Inf: not a finite number: filter such rows, or set allow_nan`},
		{&Numeric{Key: "x", AllowNaN: true}, ""},
		{&Numeric{Key: "x", AllowNaN: true, Normalizer: Normalizer{Log: true}}, ""},
		{&Numeric{Key: "x", Normalizer: Normalizer{Log: true, Func: func(x []float32) { x[2] = 0 }, Name: "f"}},
			`column "x", row 2: value 0: the normalizer makes it infinite: correct the value or the normalizer`},
		{&Bucketized{Of: &Numeric{Key: "x"}, Boundaries: []float64{0}}, ""},
	} {
		plan, err := New(Columns{Linear: []Column{c.column}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Apply(context.Background(), rec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want %q", c.column, err, c.want)
		}
	}
}

func TestMissingValues(t *testing.T) {
	plan, err := New(Columns{
		Linear: []Column{&HashBucket{Key: "s", Size: 5}, &Identity{Key: "i", Size: 10}},
		Dense:  []Column{&Numeric{Key: "x", AllowNaN: true}},
		Keep:   []string{"s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply(context.Background(), badRows())
	if err != nil {
		t.Fatal(err)
	}
	list := out.Column(out.Schema().FieldIndices("s/ids")[0]).(*array.List)
	if got := list.Offsets(); got[1] != 1 || got[2] != 1 || got[3] != 1 {
		t.Errorf("offsets %v: a null and an empty string count", got)
	}
	list = out.Column(out.Schema().FieldIndices("i/ids")[0]).(*array.List)
	if got := list.Offsets(); got[3] != 2 {
		t.Errorf("offsets %v: a negative id counts", got)
	}
	if len(out.Schema().FieldIndices("s")) != 1 || len(out.Schema().FieldIndices("i")) != 0 {
		t.Errorf("schema %v: s is kept, i is not", out.Schema())
	}
}
