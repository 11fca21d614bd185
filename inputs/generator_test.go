package inputs

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// generated yields n rows with all types that a generator may yield.
func generated(t testing.TB, mem memory.Allocator, n int) Dataset {
	t.Helper()
	ds, err := Generator(func(context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			for i := range n {
				if !yield(Row{"x": []float32{float32(i), -1}, "id": i, "word": []byte("w"), "other": struct{}{}}, nil) {
					return
				}
			}
		}
	}, ArrowOptions{Allocator: mem, Columns: []ColumnSpec{
		{Name: "x", Shape: []int{2}}, {Name: "id", DType: "int64"}, {Name: "word", DType: "string"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// generate returns the first record of rows with one column.
func generate(t *testing.T, c ColumnSpec, values ...any) ([]NamedTensor, error) {
	t.Helper()
	ds, err := Generator(func(context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			for _, v := range values {
				if err, ok := v.(error); ok {
					yield(nil, err)
					return
				}
				if !yield(Row{c.Name: v}, nil) {
					return
				}
			}
		}
	}, ArrowOptions{Columns: []ColumnSpec{c}})
	if err != nil {
		return nil, err
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	out, err := nextTensors(t, it, ds.Schema())
	if err != nil {
		return nil, err
	}
	_, err = it.Next(t.Context())
	return out, err
}

// nextTensors returns copies of the tensors of the next record.
func nextTensors(t *testing.T, it Iterator, s *Schema) ([]NamedTensor, error) {
	t.Helper()
	rec, err := it.Next(t.Context())
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	out, err := Tensors(rec, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i].Tensor = out[i].Tensor.Clone()
	}
	return out, nil
}

func TestGeneratorValues(t *testing.T) {
	type word string
	for _, c := range []struct {
		column ColumnSpec
		values []any
		want   any
	}{
		{ColumnSpec{Name: "f"}, []any{1.5, float32(2), 3, uint8(4)}, []float32{1.5, 2, 3, 4}},
		{ColumnSpec{Name: "d", DType: "float64"}, []any{0.1, -1e300}, []float64{0.1, -1e300}},
		{ColumnSpec{Name: "i", DType: "int64"}, []any{int64(1) << 62, int8(-1), uint(7)}, []int64{1 << 62, -1, 7}},
		{ColumnSpec{Name: "b", DType: "uint8", Shape: []int{2}}, []any{[]byte{0, 255}, [2]int{1, 2}}, []uint8{0, 255, 1, 2}},
		{ColumnSpec{Name: "m", Default: -1}, []any{nil, 2.0}, []float32{-1, 2}},
		{ColumnSpec{Name: "v", Vocabulary: []string{"a", "b"}}, []any{"b", word("a"), []byte("c")}, []int64{1, 0, -1}},
		{ColumnSpec{Name: "w", DType: "int64"}, []any{1e6, float32(1 << 24), math.Copysign(0, -1)}, []int64{1000000, 1 << 24, 0}},
		{ColumnSpec{Name: "r", DType: "int64", Ragged: true}, []any{[]int{1, 2}, []int{}, nil, []int32{3}}, []int64{1, 2, 3}},
	} {
		got, err := generate(t, c.column, c.values...)
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", c.column.Name, err)
			continue
		}
		var values any
		switch x := got[0].Tensor; x.DType {
		case tensor.Float32:
			values = tensor.Values[float32](x)
		case tensor.Float64:
			values = tensor.Values[float64](x)
		case tensor.Int64:
			values = tensor.Values[int64](x)
		case tensor.Uint8:
			values = tensor.Values[uint8](x)
		}
		if d := cmp.Diff(c.want, values); d != "" {
			t.Errorf("%s: %s", c.column.Name, d)
		}
	}
}

func TestGeneratorRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		column ColumnSpec
		values []any
	}{
		"row 1: column \"x\"":    {ColumnSpec{Name: "x"}, []any{complex(1, 1)}},
		"value is missing":       {ColumnSpec{Name: "x"}, []any{nil}},
		"value has 1 elements":   {ColumnSpec{Name: "x", Shape: []int{2}}, []any{1.5}},
		"is not an int64 number": {ColumnSpec{Name: "x", DType: "int64"}, []any{1.5}},
		"the connection is lost": {ColumnSpec{Name: "x"}, []any{errors.New("the connection is lost")}},
		"data set is empty":      {ColumnSpec{Name: "x"}, nil},
	} {
		if _, err := generate(t, c.column, c.values...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
	// Rows before a bad one are delivered.
	got, err := generate(t, ColumnSpec{Name: "x"}, 1, errors.New("lost"))
	if err == nil || !strings.Contains(err.Error(), "row 2: lost") || len(got) != 1 || got[0].Tensor.Len() != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Generator(nil, ArrowOptions{}); err == nil {
		t.Error("no columns: expected an error")
	}
}

func TestRowsOf(t *testing.T) {
	rows := make(chan Row, 3)
	for i := range 3 {
		rows <- Row{"x": i}
	}
	close(rows)
	ds, err := Generator(RowsOf(rows), ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := Pipe(ds, Batch(3, true)).Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil || rec.NumRows() != 3 {
		t.Fatalf("got %v, %v", rec, err)
	}
	rec.Release()

	// A channel that is never closed: the read ends with the context.
	ctx, cancel := context.WithCancel(t.Context())
	ds, _ = Generator(RowsOf(make(chan Row)), ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}})
	waiting, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	cancel()
	if _, err := waiting.Next(context.Background()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected that the context ended", err)
	}
}

// TestGeneratorEndsWithIterator: a pass over a silent channel ends when it is closed, even under Prefetch.
func TestGeneratorEndsWithIterator(t *testing.T) {
	ended := make(chan struct{})
	ds, err := Generator(func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			defer close(ended)
			if yield(Row{"x": 1}, nil) {
				RowsOf(make(chan Row))(ctx)(yield)
			}
		}
	}, ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := Pipe(ds, Batch(1, false), Prefetch(2)).Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if err := it.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestGeneratorReadEndsWithItsContext: a read that waits for a row can be
// cancelled.
func TestGeneratorReadEndsWithItsContext(t *testing.T) {
	ds, err := Generator(RowsOf(make(chan Row)), ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected that the context ended", err)
	}
}

func TestGeneratorOfTexts(t *testing.T) {
	type raw []byte // as sql.RawBytes
	got, err := generate(t, ColumnSpec{Name: "city", Kind: "categorical"}, raw("Oslo"), "Rom", []byte("x"))
	if !errors.Is(err, io.EOF) || len(got) != 1 || got[0].Tensor.DType != tensor.String || string(got[0].Tensor.Strings[0]) != "Oslo" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestPipeOfNothing(t *testing.T) {
	if ds := Pipe(nil, Batch(3, false)); ds != nil {
		t.Errorf("got %v, expected nil", ds)
	}
}

// TestCancelledGeneratorIsNotAtItsEnd: a function that returns because its context ended has not yielded all rows.
func TestCancelledGeneratorIsNotAtItsEnd(t *testing.T) {
	ds, err := Generator(func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			if yield(Row{"x": 1}, nil) {
				<-ctx.Done()
			}
		}
	}, ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := Pipe(ds, Take(9)).Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	for range 2 { // the row before may come first
		rec, err := it.Next(ctx)
		if err == nil {
			rec.Release()
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, expected that the context ended", err)
		}
	}
	last, stop := context.WithTimeout(t.Context(), time.Second) // the function may still be waiting, if both calls ended before they asked it
	defer stop()
	if rec, err := it.Next(last); errors.Is(err, io.EOF) {
		t.Errorf("got %v, %v: expected no end of the rows", rec, err)
	}
}

// TestGenerated: a generator is recognized behind the transforms of a training input; other sources are not generators.
func TestGenerated(t *testing.T) {
	o := ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}}
	ds, err := Generator(RowsOf(make(chan Row)), o)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := Slices(nil, Slice("x", Feature, []float32{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ds   Dataset
		want bool
	}{
		"a generator": {ds, true}, "in batches": {Pipe(ds, Shuffle(4, 1), Repeat(0), Batch(2, false)), true}, "memory": {Pipe(memory, Batch(2, false)), false},
		"a data set of another package": {Pipe(struct{ Dataset }{memory}, Batch(2, false)), true}, "one with random access": {struct{ Indexed }{memory}, false},
	} {
		if got := Generated(c.ds); got != c.want {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}
