package inputs

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// ArrowOptions describes files that carry a schema of their own.
type ArrowOptions struct {
	// Columns to read, with their roles; empty: all, as the file says.
	Columns []ColumnSpec
	// Unlabeled leaves out the label columns, which then need not be in the files.
	Unlabeled bool
	// Partitions lists the files, of this or other pipelines, whose key=value folders hold further columns, as Hive and Spark write them
	// (Parquet and Arrow only): int64 if all values of a key are integers and its ColumnSpec does not ask for text, else text.
	// A column in the file itself takes precedence. Nil: folders hold none.
	Partitions []string
	// Damaged leaves out and counts rows that cannot be read; nil: the first one is an error.
	Damaged   *Damaged
	Allocator memory.Allocator
}

// conformer turns records of a file into records of our schema.
type conformer struct {
	schema  *Schema
	mem     memory.Allocator
	columns []conformColumn
}

type conformColumn struct {
	field arrow.Field // of the file
	spec  ColumnSpec
	out   Column
}

// newConformer plans the reading of files of an Arrow schema.
func newConformer(as *arrow.Schema, o ArrowOptions) (*conformer, error) {
	specs := o.Columns
	if len(specs) == 0 {
		for _, f := range as.Fields() {
			specs = append(specs, ColumnSpec{Name: f.Name})
		}
	}
	c := &conformer{mem: alloc(o.Allocator)}
	var columns []Column
	for _, s := range kept(specs) {
		if s.Role == Label && o.Unlabeled {
			continue
		}
		cc, err := planColumn(as, s)
		if err != nil {
			return nil, err
		}
		if cc.out.Role == Label && o.Unlabeled {
			continue
		}
		c.columns, columns = append(c.columns, cc), append(columns, cc.out)
	}
	var err error
	c.schema, err = NewSchema(columns...)
	return c, err
}

func planColumn(as *arrow.Schema, s ColumnSpec) (conformColumn, error) {
	fields, ok := as.FieldsByName(s.Name)
	if len(fields) > 1 {
		return conformColumn{}, fmt.Errorf("column %q is in the file %d times: write it with names that differ, or name other columns", s.Name, len(fields))
	}
	if !ok {
		names := ""
		for i, f := range as.Fields() {
			if i > 0 {
				names += ", "
			}
			names += f.Name
		}
		return conformColumn{}, fmt.Errorf("unknown column %q: expected one of %s", s.Name, names)
	}
	f := fields[0]
	f.Type = logicalType(f.Type)
	shown, err := fieldOfTexts(f, s)
	var base Column
	if err == nil {
		base, err = columnOf(shown)
	}
	if err != nil {
		return conformColumn{}, fmt.Errorf("%w (name the columns to read under columns)", err)
	}
	if s.Role == "" {
		s.Role = base.Role
	}
	out, err := s.column(base.DType)
	if err != nil {
		return conformColumn{}, err
	}
	switch {
	case s.Ragged && !base.Ragged:
		return conformColumn{}, fmt.Errorf("column %q: ragged is set, but it is %s, which is not a list of any length: leave ragged out", s.Name, base)
	case len(s.Shape) == 0:
		out.Shape, out.Ragged = base.Shape, base.Ragged
	case !base.Ragged && out.Size() != base.Size():
		return conformColumn{}, fmt.Errorf("column %q: shape %v does not fit %s, which it is", s.Name, s.Shape, base)
	}
	if out.Ragged && s.Default != nil {
		return conformColumn{}, errRaggedDefault(s.Name)
	}
	if s.Default != nil {
		cell, err := text(s.Default)
		if err != nil {
			return conformColumn{}, fmt.Errorf("column %q: %w", s.Name, err)
		}
		if write, err := newCellWriter(s, out); err == nil { // otherwise a missing value is an error
			if out.Default, err = out.defaultOf(write, cell); err != nil {
				return conformColumn{}, err
			}
		}
	}
	fixed := len(out.Shape) > 0 && (len(base.Shape) > 0 || base.Ragged)
	if out.DType != base.DType && fixed {
		return conformColumn{}, fmt.Errorf("column %q: vectors are read as they are, and it is %s: leave dtype and vocabulary out", s.Name, base)
	}
	return conformColumn{field: f, spec: s, out: out}, nil
}

// logicalType returns the type that a column has once it is unpacked.
func logicalType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return logicalType(t.ValueType)
	case *arrow.LargeStringType:
		return arrow.BinaryTypes.String
	case *arrow.LargeBinaryType:
		return arrow.BinaryTypes.Binary
	case *arrow.LargeListType:
		return arrow.ListOf(logicalType(t.Elem()))
	case *arrow.ListType:
		if elem := logicalType(t.Elem()); !arrow.TypeEqual(elem, t.Elem()) {
			return arrow.ListOf(elem)
		}
	}
	return t
}

// record converts a record that begins at row first of the file. It does not
// release in.
func (c *conformer) record(in arrow.Record, first int64) (arrow.Record, error) {
	cols := make([]arrow.Array, len(c.columns))
	for i, cc := range c.columns {
		at := in.Schema().FieldIndices(cc.out.Name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %q is missing from a record", cc.out.Name)
		}
		arr, err := cc.convert(c.mem, in.Column(at[0]), c.schema.Arrow().Field(i).Type, first)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", cc.out.Name, err)
		}
		cols[i] = arr
		defer arr.Release()
	}
	return array.NewRecord(c.schema.Arrow(), cols, in.NumRows()), nil
}

// convert returns a column in its final type, if possible without a copy.
func (cc conformColumn) convert(mem memory.Allocator, arr arrow.Array, t arrow.DataType, first int64) (arrow.Array, error) {
	if err := checkData(arr.Data()); err != nil {
		return nil, err
	}
	if list, ok := t.(*arrow.FixedSizeListType); ok && !isList(cc.field.Type) {
		return cc.wrap(mem, arr, list, first)
	}
	direct := arr.NullN() == 0 && arrow.TypeEqual(arr.DataType(), cc.field.Type) && len(cc.spec.Vocabulary) == 0
	if base, err := columnOf(cc.field); direct && err == nil && base.DType == cc.out.DType {
		if err := checkElements(arr, first); err != nil {
			return nil, err
		}
		if list, ok := arr.(*array.List); ok && !cc.out.Ragged {
			return fixList(list, t.(*arrow.FixedSizeListType), first)
		}
		d := retype(arr.Data(), t)
		defer d.Release()
		return array.MakeFromData(d), nil
	}
	if list, ok := arr.(array.ListLike); ok && cc.out.Ragged {
		return cc.rewriteLists(mem, list, first)
	}
	if len(cc.out.Shape) > 0 && arr.NullN() == 0 {
		return nil, fmt.Errorf("%s can be read as a ragged column only: leave its shape out, or write %s", arr.DataType(), t)
	}
	if len(cc.out.Shape) > 0 || cc.out.Ragged {
		return nil, &rowOfFile{first + int64(max(firstNull(arr), 0)), orSkip(errors.New("value is null"), "filter such rows before, or set on_error: skip")}
	}
	return cc.rewrite(mem, arr, first)
}

// rowOfFile is the error of one row, counted from 0. Its message counts from 1.
type rowOfFile struct {
	row int64
	err error
}

// Error implements error.
func (e *rowOfFile) Error() string { return fmt.Sprintf("row %d of the file: %v", e.row+1, e.err) }

// Unwrap returns the error without its row.
func (e *rowOfFile) Unwrap() error { return e.err }

func isList(t arrow.DataType) bool { _, ok := t.(arrow.ListLikeType); return ok }

// wrap returns a column of scalars as lists of one element, for a shape such as
// [1].
func (cc conformColumn) wrap(mem memory.Allocator, arr arrow.Array, t *arrow.FixedSizeListType, first int64) (arrow.Array, error) {
	cc.out.Shape = nil
	elems, err := cc.convert(mem, arr, t.Elem(), first)
	if err != nil {
		return nil, err
	}
	defer elems.Release()
	d := array.NewData(t, elems.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{elems.Data()}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

// rewrite fills nulls, maps strings to their positions in the vocabulary and changes the type,
// value by value.
func (cc conformColumn) rewrite(mem memory.Allocator, arr arrow.Array, first int64) (arrow.Array, error) {
	write, err := newCellWriter(cc.spec, cc.out)
	if err != nil {
		return nil, err
	}
	t, err := cc.out.element()
	if err != nil {
		return nil, err
	}
	b := array.NewBuilder(mem, t)
	defer b.Release()
	for i := range arr.Len() {
		cell := ""
		switch {
		case !isNull(arr, i):
			cell = cc.cell(arr, i)
		case cc.spec.Default == nil:
			err = fmt.Errorf("value is null: give the column a default (.nan where feature columns fill it), or filter such rows before")
		default:
			cell, err = text(cc.spec.Default)
		}
		if err == nil {
			err = write(b, cell)
		}
		if err != nil {
			return nil, &rowOfFile{first + int64(i), err}
		}
	}
	return b.NewArray(), nil
}

// isNull reports whether a value is null, perhaps in its dictionary.
func isNull(arr arrow.Array, i int) bool {
	if a, ok := arr.(*array.Dictionary); ok && !a.IsNull(i) {
		return isNull(a.Dictionary(), a.GetValueIndex(i))
	}
	return arr.IsNull(i)
}

// cell returns a value as text for the column's writer. A float is written as an integer if the column has integers or ids.
func (cc conformColumn) cell(arr arrow.Array, i int) string {
	text := cellText(arr, i)
	if integers := !cc.out.DType.Float() && cc.out.DType != tensor.String; integers && isFloat(logicalType(arr.DataType())) {
		return cc.spec.wholeText(text)
	}
	return text
}

func isFloat(t arrow.DataType) bool {
	return t.ID() == arrow.FLOAT16 || t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64
}

// cellText returns a value as text.
func cellText(arr arrow.Array, i int) string {
	switch a := arr.(type) {
	case *array.Dictionary:
		return cellText(a.Dictionary(), a.GetValueIndex(i))
	case *array.Binary:
		return string(a.Value(i))
	case *array.LargeBinary:
		return string(a.Value(i))
	}
	if text, ok := decimalText(arr, i); ok {
		return text
	}
	return arr.ValueStr(i)
}

// retype returns the same data under another type of the same layout.
func retype(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	var children []arrow.ArrayData
	if list, ok := t.(arrow.ListLikeType); ok {
		child := retype(d.Children()[0], list.Elem())
		defer child.Release()
		children = []arrow.ArrayData{child}
	}
	return array.NewData(t, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}
