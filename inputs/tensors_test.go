package inputs

import (
	"context"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reader's result for a record does not depend on earlier records.
func TestTensorReader(t *testing.T) {
	ds, err := Slices(nil, Slice("b", Feature, []bool{true, true, false, false, true}), Slice("x", Feature, []float32{1, 2, 3, 4, 5}, 1),
		Strings("s", Feature, []string{"one", "", "three", "", "five"}), Slice("y", Label, []int64{1, 2, 3, 4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	it, err := Pipe(ds, Repeat(2), Batch(3, false)).Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	r := NewTensorReader(ds.Schema())
	for rows := 0; ; {
		rec, err := it.Next(context.Background())
		if err == io.EOF {
			if rows != 10 {
				t.Errorf("%d rows, expected 10", rows)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += int(rec.NumRows())
		got, err := r.Read(rec)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		rec.Release()
	}
}

// A reader allocates nothing for columns of numbers.
func TestTensorReaderAllocatesNothing(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, []float32{1, 2, 3, 4, 5}, 1), Slice("y", Label, []int64{1, 2, 3, 4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	r := NewTensorReader(ds.Schema())
	if n := testing.AllocsPerRun(100, func() {
		if _, err := r.Read(rec); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, expected none", n)
	}
}
