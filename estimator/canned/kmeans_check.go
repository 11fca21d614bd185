package canned

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

var errNotFinite = errors.New("expected a finite number: it would spoil every cluster")

// finiteFeatures refuses features that are NaN or infinite, as feature columns do.
func finiteFeatures(ds inputs.Dataset) inputs.Dataset {
	s := ds.Schema()
	return inputs.Pipe(ds, inputs.Map(inputs.Mapper{Name: "finite features", Map: func(_ context.Context, in arrow.Record, rows inputs.Rows) (arrow.Record, error) {
		ts, err := inputs.Tensors(in, s)
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			if t.Role != inputs.Feature || t.Offsets != nil {
				continue
			}
			if i := notFinite(t.Tensor); i >= 0 {
				each := t.Tensor.Len() / t.Tensor.Shape[0]
				return nil, &inputs.RowError{Column: t.Name, Row: rows.First + int64(i/each), Element: i % each,
					Value: fmt.Sprint(t.Tensor.Float(i)), Err: errNotFinite}
			}
		}
		in.Retain()
		return in, nil
	}}))
}

// notFinite returns the index of the first element that is NaN or infinite, -1 for none.
func notFinite(t *tensor.Tensor) int {
	for i, x := range tensor.Values[float32](t) {
		if x-x != 0 {
			return i
		}
	}
	for i, x := range tensor.Values[float64](t) {
		if math.IsNaN(x - x) {
			return i
		}
	}
	return -1
}
