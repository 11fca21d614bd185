package feature

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit/rawrows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manyColumns has a column of every type over the features of rawrows.Draw.
func manyColumns() Columns {
	words := &HashBucket{Key: "words", Size: 7}
	voc := &Vocabulary{Key: "words", Values: []string{"a", "b"}}
	x := &Numeric{Key: "x", Shape: []int{2}, Default: []float32{9}}
	ages := &Bucketized{Of: x, Boundaries: []float64{-1, 0, 1}}
	ids := &Identity{Key: "ids", Size: 5}
	return Columns{
		Linear: []Column{words, ages, ids, &Crossed{Of: []Column{ages, Key("word"), Key("words")}, Size: 100}, &Crossed{Of: []Column{ids, Key("word")}, Size: 50},
			&Weighted{Of: voc, WeightKey: "weights"}},
		Dense: []Column{x, ages, &Indicator{Of: voc}, &Indicator{Of: &Weighted{Of: words, WeightKey: "weights"}}, &Embedding{Of: &Weighted{Of: voc, WeightKey: "weights"}, Dimension: 2}},
		Sequence: []Column{&Embedding{Of: &Sequence{Of: voc}, Dimension: 3}, &Indicator{Of: &Sequence{Of: &Identity{Key: "ids", Size: 5}}},
			&SequenceNumeric{Key: "weights", Shape: []int{2}}},
	}
}

// TestRowsAreIndependent: transforming a record in pieces gives the same rows as transforming the whole.
func TestRowsAreIndependent(t *testing.T) {
	plan, err := New(manyColumns())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rec := rawrows.Draw(t)
		whole, err := plan.Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		for from := int64(0); from < rec.NumRows(); {
			to := from + int64(rapid.IntRange(1, 5).Draw(t, "piece"))
			to = min(to, rec.NumRows())
			piece, err := plan.Apply(context.Background(), rec.NewSlice(from, to))
			if err != nil {
				t.Fatal(err)
			}
			if want := whole.NewSlice(from, to); !array.RecordEqual(want, piece) {
				t.Fatalf("rows %d to %d:\n%v\nwant\n%v", from, to, piece, want)
			}
			from = to
		}
	})
}

// TestIdsLieInTheirBuckets: each id is in its column's range, and a list has
// as many weights as ids.
func TestIdsLieInTheirBuckets(t *testing.T) {
	plan, err := New(manyColumns())
	if err != nil {
		t.Fatal(err)
	}
	linear, err := plan.Linear(1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		out, err := plan.Apply(context.Background(), rawrows.Draw(t))
		if err != nil {
			t.Fatal(err)
		}
		column := func(name string) *array.List { return out.Column(out.Schema().FieldIndices(name)[0]).(*array.List) }
		for _, in := range append(append(linear, plan.Dense()...), plan.Sequence()...) {
			if in.Kind != IDs && in.Kind != IDSteps {
				continue
			}
			ids := column(in.Values).ListValues().(*array.Int64).Int64Values()
			for _, id := range ids {
				if id >= int64(in.Buckets) || id < 0 && in.Kind == IDs || id < -1 {
					t.Fatalf("%v: id %d of %d", in, id, in.Buckets)
				}
			}
			if in.Weights != "" && column(in.Weights).ListValues().Len() != len(ids) {
				t.Fatalf("%v: %d ids, %d weights", in, len(ids), column(in.Weights).ListValues().Len())
			}
		}
	})
}

// TestPipeline: a plan in a pipeline delivers the same rows for any number of
// goroutines, and its position can be restored.
func TestPipeline(t *testing.T) {
	plan, err := New(Columns{Linear: []Column{&HashBucket{Key: "s", Size: 1000}, &Crossed{Of: []Column{Key("s"), Key("n")}, Size: 99}}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(workers int, restore []byte) (all []string, state []byte) {
		ctx := context.Background()
		ds := inputs.Pipe(oneDataset(t, digestRecord(5000)), inputs.Shuffle(500, 3), inputs.Batch(128, false), plan.Transform(workers), inputs.Prefetch(2))
		it, err := ds.Iterate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		if restore != nil {
			if err := it.Restore(restore); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; ; i++ {
			rec, err := it.Next(ctx)
			if err != nil {
				return all, state
			}
			all = append(all, fmt.Sprint(rec))
			rec.Release()
			if i == 10 {
				if state, err = it.State(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	one, state := read(1, nil)
	three, _ := read(3, nil)
	rest, _ := read(2, state)
	if len(one) != 40 || fmt.Sprint(one) != fmt.Sprint(three) {
		t.Errorf("%d batches by one goroutine, %d by three: expected 40, the same", len(one), len(three))
	}
	if fmt.Sprint(one[11:]) != fmt.Sprint(rest) {
		t.Errorf("restored after 11 of %d batches: %d more, or different ones", len(one), len(rest))
	}
}

// TestPanicBecomesAnError: a user's function may panic in a background goroutine.
func TestPanicBecomesAnError(t *testing.T) {
	boom := Normalizer{Name: "boom", Func: func([]float32) { panic("boom") }}
	plan, err := New(Columns{Dense: []Column{&Bucketized{Of: &Numeric{Key: "n", Normalizer: boom}, Boundaries: []float64{0}}}, Linear: []Column{&HashBucket{Key: "s", Size: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{3, 20000} {
		if _, err := plan.Apply(context.Background(), digestRecord(rows)); err == nil {
			t.Error("no error")
		}
	}
}
