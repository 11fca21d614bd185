package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// errStop ends a prediction when the caller wants no more.
var errStop = errors.New("no more predictions are wanted")

// Predict runs the function on a data set, on all local replicas, and yields its Outputs.Values for
// each batch. Every row of the data set comes once, in order. An error ends the sequence. Nothing runs
// before the first batch is asked for. Columns that are not arguments are ignored.
func (f *Function) Predict(ctx context.Context, ds inputs.Dataset) iter.Seq2[Tensors, error] {
	return sequence(f.name, func(yield func(Tensors) error) error {
		it, err := f.openPrediction(ctx, ds)
		if err != nil {
			return err
		}
		return errors.Join(f.predict(ctx, it, yield), it.Close())
	})
}

// sequence yields the results of a prediction, and its error at the end.
func sequence(function string, predict func(yield func(Tensors) error) error) iter.Seq2[Tensors, error] {
	return func(yield func(Tensors, error) bool) {
		err := predict(func(t Tensors) error {
			if !yield(t, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("predict by %q: %w", function, err))
		}
	}
}

// openPrediction begins a pass over the data to predict.
func (f *Function) openPrediction(ctx context.Context, ds inputs.Dataset) (*Iterator, error) {
	switch {
	case f.trains():
		return nil, errors.New("the function trains: expected one of mode Predict or Eval")
	case len(f.traced.args) == 0 || len(f.traced.outputs.Values) == 0:
		return nil, errors.New("expected a function with arguments and Outputs.Values")
	case ds == nil:
		return nil, errors.New("expected a data set")
	}
	return (&Input{strategy: f.strategy, ds: ds}).Iterate(ctx)
}

// predict runs the batches here, one by one.
func (f *Function) predict(ctx context.Context, it *Iterator, yield func(Tensors) error) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := f.Run(ctx, batch)
		if err != nil {
			return err
		}
		for replica, part := range f.parts {
			values := res.values(replica)
			for i, v := range values {
				values[i] = v.Clone()
			}
			out, err := f.predicted(values, part.Rows)
			if err == nil {
				err = yield(out)
			}
			if err != nil {
				return err
			}
		}
	}
}

// values returns one replica's Outputs.Values, in the order of their names.
func (r *Result) values(replica int) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(r.function.traced.outputs.Values))
	for i := range out {
		out[i] = r.at(i)[replica]
	}
	return out
}

// predicted names values, which must have a row for each row of their batch.
func (f *Function) predicted(values []*tensor.Tensor, rows int) (Tensors, error) {
	if len(values) != len(f.traced.outputs.Values) {
		return nil, fmt.Errorf("%d results, expected %d: do all tasks run the same program?", len(values), len(f.traced.outputs.Values))
	}
	out := Tensors{}
	for i, v := range values {
		if len(v.Shape) == 0 || v.Shape[0] != rows {
			return nil, fmt.Errorf("result %s has the shape %v for %d rows: expected a row for each", f.traced.names[i], v.Shape, rows)
		}
		out[f.traced.names[i]] = v
	}
	return out, nil
}
