package inputs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// mixed returns n rows with a column of every layout, in two records.
func mixed(t testing.TB, mem memory.Allocator, n int) Indexed {
	t.Helper()
	s, err := NewSchema(Column{Name: "word", DType: tensor.String}, Column{Name: "flag", DType: tensor.Bool}, Column{Name: "ragged", DType: tensor.Float64, Ragged: true},
		Column{Name: "flags", DType: tensor.Bool, Shape: []int{2}}, Column{Name: "words", DType: tensor.String, Ragged: true}, Column{Name: "id", DType: tensor.Int64, Role: Label})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s.Arrow())
	defer b.Release()
	var recs []arrow.Record
	for i := range n {
		b.Field(0).(*array.BinaryBuilder).AppendString(strings.Repeat("ab", i%4))
		b.Field(1).(*array.BooleanBuilder).Append(i%3 == 0)
		list := b.Field(2).(*array.ListBuilder)
		list.Append(true)
		words := b.Field(4).(*array.ListBuilder)
		words.Append(true)
		for k := range i % 5 {
			list.ValueBuilder().(*array.Float64Builder).Append(float64(10*i + k))
			words.ValueBuilder().(*array.BinaryBuilder).AppendString(fmt.Sprint(i, k))
		}
		pair := b.Field(3).(*array.FixedSizeListBuilder)
		pair.Append(true)
		pair.ValueBuilder().(*array.BooleanBuilder).AppendValues([]bool{i%2 == 0, true}, nil)
		b.Field(5).(*array.Int64Builder).Append(int64(i))
		if i == n/3 || i == n-1 {
			recs = append(recs, b.NewRecord())
		}
	}
	ds, err := Records(s, recs, mem)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestEveryLayout(t *testing.T) {
	src := mixed(t, checked(t), 40)
	for name, ds := range map[string]Dataset{
		"rows": src, "batches": Pipe(src, Batch(7, false)), "numbers": Pipe(src, Shuffle(15, 1), Batch(7, false), Prefetch(1)),
		"streamed": Pipe(streamOf(src), Shuffle(15, 1), Repeat(2), Batch(7, false)), "filtered": Pipe(opaqueDataset{src}, Fold(3, 1, false), Batch(4, false), Batch(3, false)),
	} {
		t.Run(name, func(t *testing.T) { checkDataset(t, ds) })
	}
	a := drain(t, iterate(t, Pipe(src, Shuffle(15, 1), Batch(7, false))), src.Schema(), 99)
	b := drain(t, iterate(t, Pipe(streamOf(src), Shuffle(15, 1), Batch(7, false))), src.Schema(), 99)
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

func TestRaggedTensor(t *testing.T) {
	src := mixed(t, checked(t), 12)
	rec, err := Pipe(src, Skip(5)).(Indexed).Gather(context.Background(), []int64{1, 0, 4})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	part := rec.NewSlice(1, 3)
	defer part.Release()
	ts, err := Tensors(part, src.Schema())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(ts[2].Offsets, cellsOf(ts[2], 0, ts[2].Tensor.Len()), ts[2].Tensor.Shape, ts[3].Tensor.Shape)
	if want := "[0 0 4] [90 91 92 93] [4] [2 2]"; got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}

func TestSchemaErrors(t *testing.T) {
	for want, c := range map[string][]Column{
		"has no name":           {{DType: tensor.Float32}},
		"occurs twice":          {{Name: "x", DType: tensor.Float32}, {Name: "x", DType: tensor.Float32}},
		"role must be":          {{Name: "x", DType: tensor.Float32, Role: "target"}},
		"dimensions must be":    {{Name: "x", DType: tensor.Float32, Shape: []int{2, 0}}},
		"at most 2^30 elements": {{Name: "x", DType: tensor.Float32, Shape: []int{1 << 20, 1 << 20}}},
		"has no shape":          {{Name: "x", DType: tensor.Float32, Shape: []int{2}, Ragged: true}},
		"cannot be held":        {{Name: "x", DType: 20}},
	} {
		if _, err := NewSchema(c...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	s, err := NewSchema(Column{Name: "x", DType: tensor.Uint8, Shape: []int{2, 3}, Role: Weight})
	if err != nil {
		t.Fatal(err)
	}
	back, err := SchemaFromArrow(s.Arrow())
	if err != nil || !back.Equal(s) || back.String() != "x uint8[2 3] weight" {
		t.Errorf("got %s, %v", back, err)
	}
	if _, err := s.Column("y"); err == nil || err.Error() != `unknown column "y": the data has x` {
		t.Errorf("got %v", err)
	}
	for _, shape := range []string{"7", "a", "", "-2,-3"} {
		f := s.Arrow().Field(0)
		f.Metadata = arrow.NewMetadata([]string{metaShape}, []string{shape})
		if _, err := SchemaFromArrow(arrow.NewSchema([]arrow.Field{f}, nil)); err == nil {
			t.Errorf("shape %q: no error", shape)
		}
	}
}

func TestSlicesErrors(t *testing.T) {
	for want, columns := range map[string][]NamedTensor{
		"empty":               {},
		"no record has a row": {Slice("x", Feature, []float32{})},
		"not a whole number":  {Slice("x", Feature, []float32{1, 2, 3}, 2)},
		"give all columns":    {Slice("x", Feature, []float32{1, 2}), Strings("s", Feature, []string{"a"})},
		`column "x" occurs`:   {Slice("x", Feature, []bool{true}), Slice("x", Label, []int64{1})},
	} {
		if _, err := Slices(nil, columns...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	ds, err := Slices(nil, Slice("b", Feature, []bool{true, false}), Strings("s", Feature, []string{"p", "q"}), Slice("v", Feature, []bool{true, false, false, true}, 2))
	if err != nil {
		t.Fatal(err)
	}
	got := drain(t, iterate(t, ds), ds.Schema(), 9)
	if want := `b[2] [] 0100 [];s[2] []  ["p" "q"];v[2 2] [] 01000001 [];`; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, expected %s", got, want)
	}
	if _, err := ds.Gather(context.Background(), []int64{2}); err == nil || !strings.Contains(err.Error(), "row 2 is out of range") {
		t.Errorf("got %v", err)
	}
	if _, err := Project("nope")(ds).Iterate(context.Background()); err == nil {
		t.Error("projecting an unknown column: no error")
	}
	if _, err := Records(ds.Schema(), nil, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v", err)
	}
}
