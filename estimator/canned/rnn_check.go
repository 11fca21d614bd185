package canned

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// stepped is a column that has values for each step of a sequence.
type stepped struct {
	name string // in error messages
	at   int    // in the schema
	step int    // values of a step
}

// check refuses examples whose sequences differ in length, including labels and weights
// if each step has one.
func (r *rnn) check(ds inputs.Dataset) inputs.Dataset {
	s := ds.Schema()
	var columns []stepped
	add := func(name, column string, step int) {
		if i := s.Index(column); i >= 0 && s.Columns()[i].Ragged {
			columns = append(columns, stepped{name, i, step})
		}
	}
	for _, in := range r.sequence {
		step := 1
		if in.Kind == feature.NumberSteps {
			step = in.Width
		}
		add(in.Column, in.Values, step)
	}
	if r.sequences {
		for _, c := range s.ByRole(inputs.Label) {
			add(c.Name, c.Name, r.labels)
		}
		if r.weights != "" {
			add(r.weights, r.weights, 1)
		}
	}
	if len(columns) < 2 {
		return ds
	}
	return inputs.Pipe(ds, inputs.Map(inputs.Mapper{Name: "equal sequence lengths", Map: func(_ context.Context, in arrow.Record, rows inputs.Rows) (arrow.Record, error) {
		ts, err := inputs.Tensors(in, s)
		if err != nil {
			return nil, err
		}
		for _, c := range columns[1:] {
			if err := sameLengths(ts, columns[0], c, rows); err != nil {
				return nil, err
			}
		}
		in.Retain()
		return in, nil
	}}))
}

// sameLengths names the first row in which two columns differ in the number of
// steps.
func sameLengths(ts []inputs.NamedTensor, a, b stepped, rows inputs.Rows) error {
	x, y := ts[a.at].Offsets, ts[b.at].Offsets
	for row := range len(x) - 1 {
		have, want := int(y[row+1]-y[row]), int(x[row+1]-x[row])/a.step
		if have != want*b.step {
			return &inputs.RowError{Column: b.name, Row: rows.First + int64(row),
				Err: fmt.Errorf("%d values for %d steps of column %q: expected %d for each step", have, want, a.name, b.step)}
		}
	}
	return nil
}
