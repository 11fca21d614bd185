package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/tensor"
)

// columnMap describes a Mapper that rewrites dense columns one by one.
type columnMap struct {
	name string
	seed int64
	// plan returns what column c becomes and a function that writes its elements;
	// a nil function leaves the column as it is.
	plan func(c Column) (Column, columnFunc, error)
}

// columnFunc writes the elements of a column: dst has the bytes of the new
// column, src is the old one.
type columnFunc func(dst []byte, src *tensor.Tensor, rows Rows) error

// mapper returns the Mapper.
func (m columnMap) mapper() Mapper {
	return Mapper{
		Name: m.name, Seed: m.seed,
		Schema: func(in *Schema) (*Schema, error) {
			out, _, err := m.planAll(in)
			return out, err
		},
		Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
			s, err := SchemaFromArrow(in.Schema())
			if err != nil {
				return nil, err
			}
			out, funcs, err := m.planAll(s)
			if err != nil {
				return nil, err
			}
			return rewrite(in, s, out, funcs, rows)
		},
	}
}

func (m columnMap) planAll(in *Schema) (*Schema, []columnFunc, error) {
	columns := slices.Clone(in.columns)
	funcs := make([]columnFunc, len(columns))
	fields := slices.Clone(in.arrow.Fields())
	for i, c := range in.columns {
		var err error
		if columns[i], funcs[i], err = m.plan(c); err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		if funcs[i] == nil {
			continue
		}
		if columns[i].Default, err = columns[i].defaultBy(funcs[i]); err != nil {
			return nil, nil, err
		}
		if fields[i], err = columns[i].field(); err != nil {
			return nil, nil, err
		}
	}
	s, err := newSchema(columns, arrow.NewSchema(fields, nil))
	return s, funcs, err
}

// defaultBy applies f to the column's default value.
func (c Column) defaultBy(f columnFunc) (*tensor.Tensor, error) {
	if c.Default == nil {
		return nil, nil
	}
	one := *c.Default
	one.Shape = append([]int{1}, one.Shape...)
	out := tensor.New(c.DType, c.Shape...)
	if err := f(out.Bytes, &one, Rows{}); err != nil {
		return nil, fmt.Errorf("column %q: its default: %w", c.Name, err)
	}
	return out, nil
}

// rewrite makes a record of schema to; columns without a function are shared.
func rewrite(in arrow.Record, from, to *Schema, funcs []columnFunc, rows Rows) (arrow.Record, error) {
	cols := slices.Clone(in.Columns())
	for i, f := range funcs {
		if f == nil {
			continue
		}
		src := emptyColumn(from.columns[i])
		if err := src.read(cols[i], from.columns[i]); err != nil {
			return nil, fmt.Errorf("column %q: %w", from.columns[i].Name, err)
		}
		c := to.columns[i]
		b := newBuffer(rows.Allocator, int(in.NumRows())*c.Size()*c.DType.Size())
		defer b.Release()
		if err := f(b.Bytes(), src.Tensor, rows); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		cols[i] = denseArray(to.arrow.Field(i).Type, int(in.NumRows()), b)
		defer cols[i].Release()
	}
	return array.NewRecord(to.arrow, cols, in.NumRows()), nil
}

// Compose returns the Mapper that applies ms from left to right.
func Compose(ms ...Mapper) Mapper {
	all := Mapper{Name: "compose"}
	for _, m := range ms {
		all.Name += fmt.Sprintf(" %s,%d", m.Name, m.Seed)
		all.parts = append(all.parts, nameOf(m.Name))
	}
	all.Schema = func(s *Schema) (*Schema, error) {
		for _, m := range ms {
			if m.Schema == nil {
				continue
			}
			var err error
			if s, err = m.Schema(s); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	all.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		in.Retain()
		for _, m := range ms {
			sub := rows
			sub.key = splitmix.Mix(rows.key, uint64(m.Seed))
			out, err := m.Map(ctx, in, sub)
			in.Release()
			if err != nil {
				return nil, err
			}
			in = out
		}
		return in, nil
	}
	return all
}

// float32s views bytes as float32 values.
func float32s(b []byte) []float32 { return arrow.Float32Traits.CastFromBytes(b) }
