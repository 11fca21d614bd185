package inputs

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// Where keeps the rows for which a condition is true.
func Where(condition Expression) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if up.err != nil {
			return up.refuse("where: %w", up.err)
		}
		t, err := condition.compile(up.schema)
		switch {
		case err != nil:
			return up.refuse("%w", err)
		case t.truth == nil:
			return up.refuse("expression %s is %s: expected a condition, which is true or false", shown(condition.text), t.kind())
		}
		return Filter(condition.text, func(_ context.Context, rec arrow.Record, keep []bool) error {
			columns, err := Tensors(rec, up.schema)
			if err != nil {
				return err
			}
			for i := range keep {
				keep[i] = t.truth(columns, i)
			}
			return nil
		})(ds)
	}
}

// Computed is a column that an expression makes. It is added, or replaces the column of its name and takes its role.
type Computed struct {
	Name       string
	Expression Expression
	// DType is the type of the column. Invalid, the zero value: the type of the replaced column if both are numbers or both are text;
	// else float32 for numbers, string and bool. A number that an integer type cannot hold is an error.
	DType tensor.DType
}

// Compute returns a Mapper that adds a column.
func Compute(x Computed) Mapper {
	m := Mapper{Name: fmt.Sprintf("compute(%q,%s,%s)", x.Name, x.Expression.text, x.DType)}
	m.Schema = func(in *Schema) (*Schema, error) {
		s, _, _, err := x.plan(in)
		return s, err
	}
	m.Map = func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
		from, err := SchemaFromArrow(in.Schema())
		if err != nil {
			return nil, err
		}
		s, t, at, err := x.plan(from)
		if err != nil {
			return nil, err
		}
		columns, err := Tensors(in, from)
		if err != nil {
			return nil, err
		}
		made, err := x.column(s.columns[at], t, columns, int(in.NumRows()))
		if err != nil {
			return nil, err
		}
		defer made.Release()
		arrays := slices.Clone(in.Columns())
		if at == len(arrays) {
			arrays = append(arrays, made)
		} else {
			arrays[at] = made
		}
		return array.NewRecord(s.arrow, arrays, in.NumRows()), nil
	}
	return m
}

// plan returns the schema with the column, the column's term, and its place.
func (x Computed) plan(in *Schema) (*Schema, term, int, error) {
	t, err := x.Expression.compile(in)
	if err != nil {
		return nil, t, 0, err
	}
	columns := slices.Clone(in.columns)
	at := in.Index(x.Name)
	c := Column{Name: x.Name, Role: Feature, DType: x.DType}
	old := tensor.Invalid
	if at >= 0 {
		c.Role, old = columns[at].Role, columns[at].DType
	}
	if c.DType == tensor.Invalid {
		c.DType = t.dtype(old)
	}
	if textual := c.DType == tensor.String; textual != (t.text != nil) {
		return nil, t, 0, fmt.Errorf("column %q of type %s: its expression %s is %s", x.Name, c.DType, shown(x.Expression.text), t.kind())
	}
	if at < 0 {
		at = len(columns)
		columns = append(columns, c)
	} else {
		columns[at] = c
	}
	s, err := NewSchema(columns...)
	return s, t, at, err
}

// dtype returns the type of a term that replaces a column of type old.
func (t term) dtype(old tensor.DType) tensor.DType {
	switch {
	case t.text != nil:
		return tensor.String
	case t.truth != nil:
		return tensor.Bool
	case old != tensor.Invalid && old != tensor.String && old != tensor.Bool:
		return old
	}
	return tensor.Float32
}

// column computes the column.
func (x Computed) column(c Column, t term, columns []NamedTensor, n int) (arrow.Array, error) {
	element, err := c.element()
	if err != nil {
		return nil, err
	}
	b := array.NewBuilder(alloc(nil), element)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		if t.text != nil {
			b.(*array.BinaryBuilder).AppendString(t.text(columns, i))
			continue
		}
		if whole, ok := b.(*array.Int64Builder); ok && t.whole != nil {
			whole.Append(t.whole(columns, i)) // a float64 is not exact beyond 2^53
			continue
		}
		v := 0.0
		if t.num != nil {
			v = t.num(columns, i)
		} else if t.truth(columns, i) {
			v = 1
		}
		if err := appendNumber(b, v); err != nil {
			return nil, &RowError{Column: c.Name, Row: int64(i), InBatch: true, Err: fmt.Errorf("%s is %v: %w", shown(x.Expression.text), v, err)}
		}
	}
	return b.NewArray(), nil
}

// appendNumber appends a number to a column of any numeric type.
func appendNumber(b array.Builder, v float64) error {
	whole := func(low, high float64) error {
		if v != math.Trunc(v) || v < low || v >= high {
			return fmt.Errorf("expected a whole number from %v up to below %v: use round, floor or clip, or another dtype", low, high)
		}
		return nil
	}
	switch b := b.(type) {
	case *array.Float32Builder:
		b.Append(float32(v))
	case *array.Float64Builder:
		b.Append(v)
	case *array.BooleanBuilder:
		b.Append(v != 0)
	case *array.Int64Builder:
		if err := whole(-1<<63, 1<<63); err != nil {
			return err
		}
		b.Append(int64(v))
	case *array.Int32Builder:
		if err := whole(-1<<31, 1<<31); err != nil {
			return err
		}
		b.Append(int32(v))
	case *array.Uint8Builder:
		if err := whole(0, 1<<8); err != nil {
			return err
		}
		b.Append(uint8(v))
	default:
		return fmt.Errorf("columns of type %s are not computed: expected float32, float64, int64, int32, uint8, bool or string", b.Type())
	}
	return nil
}

// Fill returns a Mapper that replaces NaN in columns of floats, or empty texts, by a value. No columns means all of them.
func Fill(value any, columns ...string) Mapper {
	m := Mapper{Name: fmt.Sprintf("fill(%v,%q)", value, columns)}
	steps := func(in *Schema) ([]Mapper, error) {
		var out []Mapper
		for _, c := range in.columns {
			if len(columns) > 0 && !slices.Contains(columns, c.Name) || len(columns) == 0 && !fillable(c, value) {
				continue
			}
			if !fillable(c, value) {
				return nil, fmt.Errorf("column %s cannot be filled with %v: expected a number for one float in each row, or a text", c, value)
			}
			text := fmt.Sprintf("where(isnan(col(%q)), %v, col(%q))", c.Name, value, c.Name)
			if word, ok := value.(string); ok {
				text = fmt.Sprintf("where(col(%q) == \"\", %q, col(%q))", c.Name, word, c.Name)
			}
			x, err := ParseExpression(text)
			if err != nil {
				return nil, err
			}
			out = append(out, Compute(Computed{Name: c.Name, Expression: x, DType: c.DType}))
		}
		for _, name := range columns {
			if _, err := in.Column(name); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	m.Schema = func(in *Schema) (*Schema, error) {
		all, err := steps(in)
		if err != nil {
			return nil, err
		}
		return Compose(all...).Schema(in)
	}
	m.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		s, err := SchemaFromArrow(in.Schema())
		if err != nil {
			return nil, err
		}
		all, err := steps(s)
		if err != nil {
			return nil, err
		}
		return Compose(all...).Map(ctx, in, rows)
	}
	return m
}

func fillable(c Column, value any) bool {
	_, word := value.(string)
	return !c.Ragged && c.Size() == 1 && (word && c.DType == tensor.String || !word && (c.DType == tensor.Float32 || c.DType == tensor.Float64))
}

// Cast returns a Mapper that changes the numeric type of columns with one number per row.
func Cast(to tensor.DType, columns ...string) (Mapper, error) {
	var all []Mapper
	for _, name := range columns {
		x, err := ParseExpression(fmt.Sprintf("col(%q)", name))
		if err != nil {
			return Mapper{}, err
		}
		all = append(all, Compute(Computed{Name: name, Expression: x, DType: to}))
	}
	return Compose(all...), nil
}
