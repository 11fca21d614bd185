package inputs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// textField is a column that is read value by value, as text.
type textField struct {
	spec     ColumnSpec
	size     int
	first    int // its first cell, in csv files without a header
	write    cellWriter
	fallback *string // value of a missing cell
}

func newTextField(s ColumnSpec) (textField, Column, error) {
	f := textField{spec: s}
	fallback := tensor.Float32
	if s.textual("") {
		fallback = tensor.String
	}
	c, err := s.column(fallback)
	if err != nil {
		return f, c, err
	}
	f.size = c.Size()
	if f.write, err = newCellWriter(s, c); err != nil || s.Default == nil {
		return f, c, err
	}
	cell, err := text(s.Default)
	if err != nil {
		return f, c, fmt.Errorf("column %q: %w", s.Name, err)
	}
	f.fallback = &cell
	c.Default, err = c.defaultOf(f.write, cell)
	return f, c, err
}

// defaultOf returns the column's default value. Each of its elements is read from cell.
func (c Column) defaultOf(write cellWriter, cell string) (*tensor.Tensor, error) {
	t, err := c.element()
	if err != nil {
		return nil, err
	}
	b := array.NewBuilder(memory.NewGoAllocator(), t)
	defer b.Release()
	for range c.Size() {
		if err := write(b, cell); err != nil {
			return nil, fmt.Errorf("column %q: its default: %w", c.Name, err)
		}
	}
	arr := b.NewArray()
	defer arr.Release()
	elements := Column{Name: c.Name, DType: c.DType}
	x := emptyColumn(elements)
	if err := x.read(arr, elements); err != nil {
		return nil, fmt.Errorf("column %q: its default: %w", c.Name, err)
	}
	out := x.Tensor.Clone()
	out.Shape = slices.Clone(c.Shape)
	return out, nil
}

// declared returns the fields of the columns that are read by name, and their schema.
func declared(format string, o ArrowOptions) ([]textField, *Schema, error) {
	var fields []textField
	var columns []Column
	for _, s := range kept(o.Columns) {
		if s.Role == Label && o.Unlabeled {
			continue
		}
		f, c, err := newTextField(s)
		if err != nil {
			return nil, nil, err
		}
		fields, columns = append(fields, f), append(columns, c)
	}
	if len(columns) == 0 {
		return nil, nil, fmt.Errorf("%s needs the list of columns: give name, dtype and role of each", format)
	}
	s, err := NewSchema(columns...)
	return fields, s, err
}

// cellWriter appends the value of a text cell to a column under construction.
type cellWriter func(b array.Builder, cell string) error

// newCellWriter returns the writer of a column's elements.
func newCellWriter(s ColumnSpec, c Column) (cellWriter, error) {
	if len(s.Vocabulary) > 0 {
		v := newVocabulary(s)
		return func(b array.Builder, cell string) error {
			id, err := v.id(cell)
			if err == nil {
				b.(*array.Int64Builder).Append(id)
			}
			return err
		}, nil
	}
	write, err := plainWriter(s, c)
	if err != nil || s.Role != Label || c.DType == tensor.String {
		return write, err
	}
	return func(b array.Builder, cell string) error {
		err := write(b, cell)
		if wrong := new(wrongCell); errors.As(err, &wrong) && !isNumber(cell) {
			wrong.word = true
		}
		return err
	}, nil
}

// plainWriter returns the writer of elements without a vocabulary.
func plainWriter(s ColumnSpec, c Column) (cellWriter, error) {
	switch c.DType {
	case tensor.Float32:
		return floatCell(32, func(b array.Builder, x float64) { b.(*array.Float32Builder).Append(float32(x)) }), nil
	case tensor.Float64:
		return floatCell(64, func(b array.Builder, x float64) { b.(*array.Float64Builder).Append(x) }), nil
	case tensor.Int64:
		return intCell(64, func(b array.Builder, x int64) { b.(*array.Int64Builder).Append(x) }), nil
	case tensor.Int32:
		return intCell(32, func(b array.Builder, x int64) { b.(*array.Int32Builder).Append(int32(x)) }), nil
	case tensor.Uint8:
		return uint8Cell, nil
	case tensor.Bool:
		return boolCell, nil
	case tensor.String:
		return func(b array.Builder, cell string) error {
			b.(*array.BinaryBuilder).AppendString(cell)
			return nil
		}, nil
	}
	return nil, fmt.Errorf("column %q: text cells cannot be read as %s, expected float32, float64, int32, int64, uint8, bool or string", c.Name, c.DType)
}

// wrongCell is the error of a cell that has no value of its column's type.
type wrongCell struct {
	cell, what string
	marked     bool // the format has a list of cells that mean a missing value
	word       bool // it is a label without a vocabulary
}

func wrongValue(cell, what string) error { return &wrongCell{cell: cell, what: what} }

// Error implements error.
func (e *wrongCell) Error() string {
	text := fmt.Sprintf("value %s is not %s: correct the cell", shown(e.cell), e.what)
	if e.marked {
		text += ", change the column's dtype, or list the value under missing_values"
	} else {
		text += ", or change the column's dtype"
	}
	if e.word {
		text += " (labels that are words need a vocabulary of the column)"
	}
	return text
}

// shown returns a value as messages print it: the beginning of a long one.
func shown(cell string) string {
	const most = 100
	if len(cell) > most {
		return fmt.Sprintf("%q... (%d bytes)", cell[:most], len(cell))
	}
	return strconv.Quote(cell)
}

func floatCell(bits int, put func(array.Builder, float64)) cellWriter {
	return func(b array.Builder, cell string) error {
		x, err := strconv.ParseFloat(cell, bits)
		if err != nil {
			return wrongValue(cell, fmt.Sprintf("a float%d number", bits))
		}
		put(b, x)
		return nil
	}
}

func intCell(bits int, put func(array.Builder, int64)) cellWriter {
	return func(b array.Builder, cell string) error {
		x, err := strconv.ParseInt(cell, 10, bits)
		if err != nil {
			return wrongValue(cell, fmt.Sprintf("an int%d number", bits))
		}
		put(b, x)
		return nil
	}
}

func uint8Cell(b array.Builder, cell string) error {
	x, err := strconv.ParseUint(cell, 10, 8)
	if err != nil {
		return wrongValue(cell, "a number from 0 to 255")
	}
	b.(*array.Uint8Builder).Append(uint8(x))
	return nil
}

func boolCell(b array.Builder, cell string) error {
	x, err := strconv.ParseBool(cell)
	if err != nil {
		return wrongValue(cell, "true or false")
	}
	b.(*array.BooleanBuilder).Append(x)
	return nil
}
