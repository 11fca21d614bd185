package feature

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/inputs"
)

// A Layer is one of Keras' preprocessing layers: StringLookup, IntegerLookup,
// Hashing, Normalization, Discretization, CategoryEncoding, TextVectorization. It is plain data.
type Layer interface {
	// String is the layer with its settings.
	String() string
	// output returns the column that c becomes.
	output(c inputs.Column) (inputs.Column, error)
	// call computes it; at returns the error of value i.
	call(c *cells, at func(i int, err error) error) (result, error)
}

// result is the output of a layer: either floats or ints, with the same number of them for each row or,
// in a ragged column, for each value.
type result struct {
	ints    []int64
	floats  []float32
	offsets []int32 // of a ragged column that is not as ragged as the input; nil: it is
}

// Preprocess returns a Mapper that replaces a column by the output of layers, applied
// one after another.
func Preprocess(column string, layers ...Layer) inputs.Mapper {
	plan := func(in *inputs.Schema) (*inputs.Schema, error) {
		c, err := in.Column(column)
		if err != nil {
			return nil, err
		}
		for _, l := range layers {
			if c, err = l.output(c); err != nil {
				return nil, fmt.Errorf("column %q: %v: %w", column, l, err)
			}
		}
		return replaced(in, in.Index(column), c)
	}
	return inputs.Mapper{Name: fmt.Sprintf("preprocess(%s,%v)", column, layers), Schema: plan,
		Map: func(_ context.Context, in arrow.Record, rows inputs.Rows) (arrow.Record, error) {
			from, err := inputs.SchemaFromArrow(in.Schema())
			if err != nil {
				return nil, err
			}
			to, err := plan(from)
			if err != nil {
				return nil, err
			}
			return preprocess(in, from, to, column, layers, rows.First)
		}}
}

// replaced returns the schema with column i replaced.
func replaced(in *inputs.Schema, i int, c inputs.Column) (*inputs.Schema, error) {
	one, err := inputs.NewSchema(c)
	if err != nil {
		return nil, err
	}
	fields := append([]arrow.Field(nil), in.Arrow().Fields()...)
	fields[i] = one.Arrow().Field(0)
	return inputs.SchemaFromArrow(arrow.NewSchema(fields, nil))
}

func preprocess(in arrow.Record, from, to *inputs.Schema, column string, layers []Layer, first int64) (arrow.Record, error) {
	at := from.Index(column)
	arr := in.Column(at)
	arr.Retain()
	c, err := from.Column(column)
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		next, err := callLayer(l, c, arr, first)
		arr.Release()
		if err != nil {
			return nil, err
		}
		arr = next
		if c, err = l.output(c); err != nil {
			return nil, err
		}
	}
	defer arr.Release()
	arrays := append([]arrow.Array(nil), in.Columns()...)
	arrays[at] = arr
	return array.NewRecord(to.Arrow(), arrays, in.NumRows()), nil
}

// callLayer applies a layer to an array of column c.
func callLayer(l Layer, c inputs.Column, arr arrow.Array, first int64) (arrow.Array, error) {
	cells, err := newCells(c.Name, arr)
	if err != nil {
		return nil, err
	}
	bad := func(i int, err error) error {
		for row := range cells.rows {
			if from, to := cells.span(row); i < to {
				return &inputs.RowError{Column: c.Name, Row: first + int64(row), Element: i - from, Value: cells.show(i), Err: err}
			}
		}
		return err
	}
	for i, missing := range cells.missing {
		if missing {
			return nil, bad(i, fmt.Errorf("%v takes no missing values: fill them, or filter such rows", l))
		}
	}
	r, err := l.call(cells, bad)
	if err != nil {
		return nil, err
	}
	out, err := l.output(c)
	if err != nil {
		return nil, err
	}
	return r.array(out, cells), nil
}

// array returns the result as an array of column c.
func (r result) array(c inputs.Column, from *cells) arrow.Array {
	var d arrow.ArrayData
	if r.floats != nil {
		d = floatData(r.floats)
	} else {
		d = intData(r.ints)
	}
	switch {
	case c.Ragged && r.offsets != nil:
		return lists(d, r.offsets)
	case c.Ragged:
		return lists(d, from.offsets)
	case len(c.Shape) == 0:
		defer d.Release()
		return array.MakeFromData(d)
	}
	return fixed(d, from.rows, c.Size())
}
