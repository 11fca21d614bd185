package feature

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit/rawrows"
)

// TestMemoryIsReused: a plan that has transformed other records, of any size,
// gives the same result for a record as a new plan. Results that are still held do not
// change.
func TestMemoryIsReused(t *testing.T) {
	used := planOf(t, manyColumns())
	rapid.Check(t, func(t *rapid.T) {
		rec := rawrows.Draw(t)
		got, err := used.Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		want, err := planOf(t, manyColumns()).Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		sameTensors(t, got, want)
		if !rapid.Bool().Draw(t, "keep columns") {
			return
		}
		kept := got.Columns()[0]
		kept.Retain()
		defer kept.Release()
		next, err := used.Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		next.Release()
		if !array.Equal(kept, want.Column(0)) {
			t.Errorf("a column that was kept is %v, expected %v", kept, want.Column(0))
		}
	})
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
}

func planOf(t fataler, c Columns) *Plan {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sameTensors(t fataler, a, b arrow.Record) {
	t.Helper()
	s, err := inputs.SchemaFromArrow(a.Schema())
	if err != nil {
		t.Fatal(err)
	}
	x, err := inputs.Tensors(a, s)
	if err != nil {
		t.Fatal(err)
	}
	y, err := inputs.Tensors(b, s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(y, x); diff != "" {
		t.Error(diff)
	}
}

// TestTransformAllocatesNothing: batches of the same size allocate nothing after the first few.
func TestTransformAllocatesNothing(t *testing.T) {
	rec := adult(t)
	plan := planOf(t, adultColumns())
	s, err := plan.Mapper().Schema(mustSchema(t, rec))
	if err != nil {
		t.Fatal(err)
	}
	reader := inputs.NewTensorReader(s)
	piece := rec.NewSlice(0, 128)
	n := testing.AllocsPerRun(200, func() {
		out, err := plan.Apply(context.Background(), piece)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Read(out); err != nil {
			t.Fatal(err)
		}
		out.Release()
	})
	// The pool that frames come from forgets some at a collection, and by chance under the race detector.
	if n > 100 { // 150 without
		t.Errorf("%v allocations for a batch, expected none", n)
	}
}

func mustSchema(t *testing.T, rec arrow.Record) *inputs.Schema {
	t.Helper()
	s, err := inputs.SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
