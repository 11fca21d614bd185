package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// Padding pads a ragged column to a fixed length.
type Padding struct {
	Column   string
	Length   int
	Value    any  // added after the values, a number, string or bool; nil: 0 or ""
	Truncate bool // cut off longer lists; otherwise they are an error
}

// Pad returns a Mapper that makes ragged columns dense, as tf.data's padded_batch does with padded_shapes.
func Pad(paddings ...Padding) Mapper {
	name := "pad"
	for _, p := range paddings {
		name += fmt.Sprintf(" %q,%d,%v,%t", p.Column, p.Length, p.Value, p.Truncate)
	}
	return Mapper{Name: name,
		Schema: func(in *Schema) (*Schema, error) {
			s, _, err := planPads(in, paddings)
			return s, err
		},
		Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
			from, err := SchemaFromArrow(in.Schema())
			if err != nil {
				return nil, err
			}
			to, pads, err := planPads(from, paddings)
			if err != nil {
				return nil, err
			}
			cols := slices.Clone(in.Columns())
			for i, p := range pads {
				if p.Length == 0 {
					continue
				}
				if cols[i], err = p.column(rows, cols[i], to, i); err != nil {
					return nil, err
				}
				defer cols[i].Release()
			}
			return array.NewRecord(to.arrow, cols, in.NumRows()), nil
		}}
}

// PaddedBatch applies Pad to each row, then Batch.
func PaddedBatch(n int, dropRemainder bool, paddings ...Padding) Transform {
	return func(ds Dataset) Dataset { return Pipe(ds, Map(Pad(paddings...)), Batch(n, dropRemainder)) }
}

// planPads returns the schema with dense columns, and the padding of each column; length 0 means none.
func planPads(in *Schema, paddings []Padding) (*Schema, []Padding, error) {
	columns, pads := slices.Clone(in.columns), make([]Padding, len(in.columns))
	for _, p := range paddings {
		c, err := in.Column(p.Column)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("pad: %w", err)
		case !c.Ragged:
			return nil, nil, fmt.Errorf("pad: column %s is not ragged: leave it out", c)
		case p.Length > maxSpan:
			return nil, nil, fmt.Errorf("pad: column %q: length must be at most %d, got %d", c.Name, maxSpan, p.Length)
		case p.Length <= 0:
			return nil, nil, fmt.Errorf("pad: column %q: length must be > 0, got %d", c.Name, p.Length)
		}
		i := in.Index(p.Column)
		pads[i] = p
		columns[i].Ragged, columns[i].Shape = false, []int{p.Length}
		fill, err := p.filler(columns[i], 1) // checks that the value fits
		if err != nil {
			return nil, nil, err
		}
		fill.Release()
	}
	s, err := NewSchema(columns...)
	return s, pads, err
}

// filler returns n padding values.
func (p Padding) filler(c Column, n int) (arrow.Array, error) {
	cell := ""
	var err error
	switch {
	case p.Value != nil:
		cell, err = text(p.Value)
	case c.DType == tensor.Bool:
		cell = "false"
	case c.DType != tensor.String:
		cell = "0"
	}
	var write cellWriter
	if err == nil {
		write, err = plainWriter(ColumnSpec{Name: c.Name}, c)
	}
	var t arrow.DataType
	if err == nil {
		t, err = Column{Name: c.Name, DType: c.DType}.element()
	}
	if err != nil {
		return nil, fmt.Errorf("pad: column %q: %w", c.Name, err)
	}
	b := array.NewBuilder(memory.NewGoAllocator(), t)
	defer b.Release()
	for range n {
		if err := write(b, cell); err != nil {
			return nil, fmt.Errorf("pad: column %q: %w", c.Name, err)
		}
	}
	return b.NewArray(), nil
}

// column returns a ragged column as lists of a fixed length.
func (p Padding) column(rows Rows, col arrow.Array, to *Schema, i int) (arrow.Array, error) {
	list := col.(*array.List)
	var spans []span
	longest := 0 // most padding values in a row
	for row := range list.Len() {
		from, end := list.ValueOffsets(row)
		n := int(end - from)
		if n > p.Length && !p.Truncate {
			return nil, &RowError{Column: p.Column, Row: rows.First + int64(row), Err: fmt.Errorf("pad: it has %d values, more than length %d: raise length, or set truncate", n, p.Length)}
		}
		n = min(n, p.Length)
		spans = appendSpan(spans, span{0, int(from), n})
		if n < p.Length {
			spans, longest = append(spans, span{1, 0, p.Length - n}), max(longest, p.Length-n)
		}
	}
	fill, err := p.filler(to.columns[i], longest)
	if err != nil {
		return nil, err
	}
	defer fill.Release()
	t := to.arrow.Field(i).Type.(*arrow.FixedSizeListType)
	d, err := gatherData(rows.Allocator, t.Elem(), []arrow.ArrayData{list.ListValues().Data(), fill.Data()}, spans)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", p.Column, err)
	}
	defer d.Release()
	elems := array.MakeFromData(d)
	defer elems.Release()
	return listsOf(elems, t), nil
}
