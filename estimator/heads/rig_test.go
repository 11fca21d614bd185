package heads_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// passThrough is a network whose logits are the feature "logits" times a weight that starts at 1.
func passThrough(c models.Context, f models.Features, units int) *G.Node {
	x := f.Dense("logits")
	if c.Core().Failed() || x.Shape()[1] != units {
		return x
	}
	return layers.Dense(c, x, units, layers.Weights{NoBias: true, KernelInit: initializers.Identity{Gain: 1}})
}

func sgd(rate float64) *optimizers.Optimizer {
	return optimizers.SGD(rate)
}

// open returns an estimator that logs nothing, in a directory of its own.
func open(t testing.TB, fn estimator.ModelFunc) *estimator.Estimator {
	t.Helper()
	e, err := estimator.New(fn, estimator.WithModelDir(t.TempDir()), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// openHead is open for a head on passThrough.
func openHead(t testing.TB, h heads.Head) *estimator.Estimator {
	t.Helper()
	return open(t, heads.ModelFn(passThrough, h, sgd(0.1)).Model)
}

// batchesOf is an input of columns in memory; one may be ragged words.
func batchesOf(size int, columns ...inputs.NamedTensor) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := dataset(ic.Allocator, columns)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(size, false)), nil
	})
}

func dataset(mem memory.Allocator, columns []inputs.NamedTensor) (inputs.Indexed, error) {
	last := columns[len(columns)-1]
	if last.Offsets == nil {
		return inputs.Slices(mem, columns...)
	}
	rows := len(last.Offsets) - 1
	var cols []inputs.Column
	for _, c := range columns[:len(columns)-1] {
		cols = append(cols, inputs.Column{Name: c.Name, DType: c.Tensor.DType, Shape: c.Tensor.Shape[1:], Role: c.Role})
	}
	s, err := inputs.NewSchema(append(cols, inputs.Column{Name: last.Name, DType: last.Tensor.DType, Ragged: true, Role: last.Role})...)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s.Arrow())
	for i, c := range columns {
		for row := range rows {
			appendRow(b.Field(i), c, row)
		}
	}
	return inputs.Records(s, []arrow.Record{b.NewRecord()}, mem)
}

func appendRow(b array.Builder, c inputs.NamedTensor, row int) {
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		for i := c.Offsets[row]; i < c.Offsets[row+1]; i++ {
			appendElement(b.ValueBuilder(), c.Tensor, int(i))
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		each := c.Tensor.Shape[1]
		for i := range each {
			appendElement(b.ValueBuilder(), c.Tensor, row*each+i)
		}
	default:
		appendElement(b, c.Tensor, row)
	}
}

func appendElement(b array.Builder, x *tensor.Tensor, i int) {
	switch b := b.(type) {
	case *array.Float32Builder:
		b.Append(tensor.Values[float32](x)[i])
	case *array.Int64Builder:
		b.Append(tensor.Values[int64](x)[i])
	case *array.BinaryBuilder:
		b.Append(x.Strings[i])
	}
}
