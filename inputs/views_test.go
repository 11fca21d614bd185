package inputs

import (
	"context"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// Passes over data in memory give the same rows, whether or not their records are kept, and also for several
// concurrent readers.
func TestKeptViews(t *testing.T) {
	const rows, passes = keptViews + 20, 3
	y := make([]int64, rows)
	for i := range y {
		y[i] = int64(i)
	}
	ds, err := Slices(nil, Slice("y", Label, y))
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			it, err := Pipe(ds, Repeat(passes), Batch(1, true)).Iterate(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer it.Close()
			r := NewTensorReader(ds.Schema())
			for i := range rows * passes {
				rec, err := it.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				ts, err := r.Read(rec)
				if err != nil || tensor.Values[int64](ts[0].Tensor)[0] != int64(i%rows) {
					t.Errorf("row %d: got %v (%v)", i, ts, err)
				}
				rec.Release()
			}
			if _, err := it.Next(context.Background()); !eof(err) {
				t.Errorf("got %v after all passes, expected the end", err)
			}
		})
	}
	readers.Wait()
}
