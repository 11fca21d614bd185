package inputs

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// checked returns an allocator that fails the test on a memory leak.
func checked(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// numbers returns a data set with "x" float32[2] {i, -i} and "id" int64 i, for i from 0 to n-1.
func numbers(t testing.TB, mem memory.Allocator, n int) Indexed {
	t.Helper()
	xs, ids := make([]float32, 2*n), make([]int64, n)
	for i := range n {
		xs[2*i], xs[2*i+1], ids[i] = float32(i), float32(-i), int64(i)
	}
	ds, err := Slices(mem, Slice("x", Feature, xs, 2), Slice("id", Label, ids))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// streamOf hides the random access of a data set.
func streamOf(ds Dataset) Dataset {
	n := adopt(ds)
	return n.derive("stream", n.start)
}

// opaqueDataset hides everything but the public methods.
type opaqueDataset struct{ Dataset }

func iterate(t testing.TB, ds Dataset) Iterator {
	t.Helper()
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	})
	return it
}

// next returns a printable form of the next record, "" at the end.
func next(t testing.TB, it Iterator, s *Schema) string {
	t.Helper()
	rec, err := it.Next(context.Background())
	if eof(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	return show(t, rec, s)
}

func show(t testing.TB, rec arrow.Record, s *Schema) string {
	t.Helper()
	ts, err := Tensors(rec, s)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, x := range ts {
		out += fmt.Sprintf("%s%v %v %x %q;", x.Name, x.Tensor.Shape, x.Offsets, x.Tensor.Bytes, x.Tensor.Strings)
	}
	return out
}

// drain returns the printable records of a pass, at most limit.
func drain(t testing.TB, it Iterator, s *Schema, limit int) []string {
	t.Helper()
	var out []string
	for len(out) < limit {
		b := next(t, it, s)
		if b == "" {
			break
		}
		out = append(out, b)
	}
	return out
}

// ids returns the "id" or "label" column of a whole pass, batch by batch.
func ids(t testing.TB, ds Dataset) [][]int64 {
	t.Helper()
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out [][]int64
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		ts, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ts {
			if x.Role == Label {
				out = append(out, append([]int64(nil), tensor.Values[int64](x.Tensor)...))
			}
		}
		rec.Release()
	}
}

func flat(batches [][]int64) []int64 {
	var out []int64
	for _, b := range batches {
		out = append(out, b...)
	}
	return out
}
