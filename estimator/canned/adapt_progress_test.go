package canned_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// slow is a data set whose batches each take a while.
type slow struct{ inputs.Dataset }

func (s slow) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := s.Dataset.Iterate(ctx)
	return slowIterator{it}, err
}

type slowIterator struct{ inputs.Iterator }

func (s slowIterator) Next(ctx context.Context) (arrow.Record, error) {
	time.Sleep(6 * time.Second) // on a fake clock
	return s.Iterator.Next(ctx)
}

// TestAdaptingIsLogged: a long pass over the data logs its beginning and its progress.
func TestAdaptingIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		specs := []feature.Spec{adapted[0]}
		a := canned.Adaptation{Log: slog.New(slog.NewTextHandler(&log, nil)), Data: func(context.Context) (inputs.Dataset, error) {
			b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "age", Type: arrow.PrimitiveTypes.Float32}}, nil))
			b.Field(0).(*array.Float32Builder).AppendValues([]float32{1, 2, 3}, nil)
			rec := b.NewRecord()
			ds, err := inputs.Records(ok(inputs.SchemaFromArrow(rec.Schema())), []arrow.Record{rec}, nil)
			return slow{inputs.Batch(1, false)(ds)}, err
		}}
		if _, _, err := a.Columns(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`msg="adapting feature columns`, "still adapting feature columns to the training data\" rows=2 secs=12"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %s in the log %s", want, log.String())
			}
		}
	})
}

// TestAdaptWarns: a large vocabulary, and one with more values than are counted, log warnings.
func TestAdaptWarns(t *testing.T) {
	const kinds = 1<<20 + 1 // one more than are counted
	var log bytes.Buffer
	a := canned.Adaptation{Log: slog.New(slog.NewTextHandler(&log, nil)), Data: func(context.Context) (inputs.Dataset, error) {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil))
		for i := range int64(kinds) {
			b.Field(0).(*array.Int64Builder).Append(i)
			if i <= 100_000 {
				b.Field(0).(*array.Int64Builder).Append(i)
			}
		}
		rec := b.NewRecord()
		return inputs.Records(ok(inputs.SchemaFromArrow(rec.Schema())), []arrow.Record{rec}, nil)
	}}
	if _, _, err := a.Columns(t.Context(), []feature.Spec{{Type: "vocabulary", Key: "n", DType: "int64", Adapt: true}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"more different values than are counted", "key=n values=100001"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log %s", want, log.String())
		}
	}
}
