package estimator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/google/go-cmp/cmp"
)

// poisoned delivers batches whose memory is overwritten when they are released.
type poisoned struct{ inputs.Dataset }

func (p poisoned) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := p.Dataset.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	return &poisonedIterator{it}, nil
}

type poisonedIterator struct{ inputs.Iterator }

func (it *poisonedIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	columns := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		if columns[i], err = array.Concatenate([]arrow.Array{c}, memory.NewGoAllocator()); err != nil {
			return nil, err
		}
	}
	f := &inputs.Frame{}
	f.Reset(rec.Schema(), columns, rec.NumRows(), func() {
		for _, c := range columns {
			testkit.Overwrite(c.Data())
		}
	})
	return f, nil
}

// TestBatchesAreNotReadOnceReleased: training, evaluation and kept predictions do
// not depend on the memory of released batches. Some predictions are an input
// column, unchanged.
func TestBatchesAreNotReadOnceReleased(t *testing.T) {
	ctx := context.Background()
	results := func(in estimator.InputFn) (out []string) {
		e := custom(t, estimator.ModelFunc(flowerModel), t.TempDir())
		if _, err := e.Train(ctx, forever(in), estimator.MaxSteps(20)); err != nil {
			t.Fatal(err)
		}
		metrics, err := e.Evaluate(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := predictAll(e, in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(metrics.GlobalStep, metrics.Metrics))
		for _, p := range kept {
			out = append(out, fmt.Sprintf("%x %x", p.Get("Größe (cm)").Bytes, p.Get("sepal length (cm)").Bytes))
		}
		return out
	}
	want := results(flowers)
	got := results(estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := flowers.Input(ctx, ic)
		return poisoned{ds}, err
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
