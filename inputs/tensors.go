package inputs

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"github.com/goestimator/goestimator/tensor"
)

// NamedTensor is one column of a record as a tensor.
type NamedTensor struct {
	Name   string
	Role   Role
	Tensor *tensor.Tensor // Shape[0] is the number of rows; for a ragged column, of all values together
	// Offsets is nil for a dense column. For a ragged column it has rows+1 entries:
	// row i has the values Offsets[i] to Offsets[i+1]-1 of Tensor; Offsets[0] is 0.
	Offsets []int32
}

// Row returns the value of row i: a view of one example's shape, or the list of values of a ragged column.
func (nt NamedTensor) Row(i int) *tensor.Tensor {
	if nt.Offsets == nil {
		return nt.Tensor.Row(i)
	}
	first, last := int(nt.Offsets[i]), int(nt.Offsets[i+1])
	t := &tensor.Tensor{DType: nt.Tensor.DType, Shape: []int{last - first}}
	if t.DType == tensor.String {
		t.Strings = nt.Tensor.Strings[first:last]
	} else {
		t.Bytes = nt.Tensor.Bytes[first*t.DType.Size() : last*t.DType.Size()]
	}
	return t
}

// Tensors returns the columns of a record of schema s as tensors. Numeric
// columns are views of the record's memory, valid until the record is released;
// booleans and the list of strings are unpacked. A null is an error that names
// its column and row.
func Tensors(rec arrow.Record, s *Schema) ([]NamedTensor, error) {
	return NewTensorReader(s).Read(rec)
}

// TensorReader turns one record after another into tensors, in memory that it
// reuses. It is for one goroutine.
type TensorReader struct {
	schema  *Schema
	columns []NamedTensor
}

// NewTensorReader returns a reader of records of schema s.
func NewTensorReader(s *Schema) *TensorReader {
	r := &TensorReader{schema: s, columns: make([]NamedTensor, len(s.columns))}
	for i, c := range s.columns {
		r.columns[i] = emptyColumn(c)
	}
	return r
}

// emptyColumn returns a column like c without rows.
func emptyColumn(c Column) NamedTensor {
	shape := []int{0}
	if !c.Ragged {
		shape = append(shape, c.Shape...)
	}
	return NamedTensor{Name: c.Name, Role: c.Role, Tensor: &tensor.Tensor{DType: c.DType, Shape: shape}}
}

// Read is like Tensors, but its result is valid only until the next Read, even if that
// fails.
func (r *TensorReader) Read(rec arrow.Record) ([]NamedTensor, error) {
	if int(rec.NumCols()) != len(r.columns) {
		return nil, fmt.Errorf("record has %d columns, its schema %d (%s)", rec.NumCols(), len(r.columns), r.schema.names())
	}
	for i := range r.columns {
		if err := r.columns[i].read(peek(rec, i), r.schema.columns[i]); err != nil {
			return nil, fmt.Errorf("column %q: %w", r.columns[i].Name, err)
		}
	}
	return r.columns, nil
}

// read sets nt to the values of a column c. The shape of nt is already c's, except for the
// number of rows.
func (nt *NamedTensor) read(arr arrow.Array, c Column) error {
	if n := arr.NullN(); n > 0 {
		return fmt.Errorf("%d of %d rows are null, the first is row %d of its batch: fill missing values or filter such rows",
			n, arr.Len(), firstNull(arr)+1)
	}
	nt.Offsets = nil
	elems, start, count := arr, 0, arr.Len()
	switch a := arr.(type) {
	case *array.FixedSizeList:
		size := int(a.DataType().(*arrow.FixedSizeListType).Len())
		if size != c.Size() {
			return fmt.Errorf("rows have %d elements, expected shape %v", size, c.Shape)
		}
		elems, start, count = a.ListValues(), a.Data().Offset()*size, a.Len()*size
	case *array.List:
		elems = a.ListValues()
		nt.Offsets, start, count = rebase(a)
	}
	if d, ok := dtypeOf[elems.DataType().ID()]; !ok || d != c.DType || (nt.Offsets != nil) != c.Ragged {
		return fmt.Errorf("expected %s, got Arrow type %s", c, arr.DataType())
	}
	if elems != arr && elems.NullN() > 0 && anyNull(elems, start, count) {
		return fmt.Errorf("a list holds a null element: fill missing values or filter such rows")
	}
	nt.Tensor.Shape[0] = arr.Len()
	if c.Ragged {
		nt.Tensor.Shape[0] = count
	}
	fill(nt.Tensor, elems, start, count)
	return nil
}

// fill points t at count elements of an array, starting at element start.
func fill(t *tensor.Tensor, elems arrow.Array, start, count int) {
	d := elems.Data()
	switch a := elems.(type) {
	case *array.Boolean:
		t.Bytes = slices.Grow(t.Bytes[:0], count)[:count]
		for i := range t.Bytes {
			t.Bytes[i] = 0
			if a.Value(start + i) {
				t.Bytes[i] = 1
			}
		}
	case interface{ ValueOffset(int) int }: // String, Binary
		t.Strings = stringViews(t.Strings[:0], d, start, count)
	default:
		if count == 0 {
			t.Bytes = []byte{}
			return
		}
		w := t.DType.Size()
		at := (d.Offset() + start) * w
		t.Bytes = d.Buffers()[1].Bytes()[at : at+count*w : at+count*w]
	}
}

// stringViews appends count strings of an array to dst, starting at string start.
func stringViews(dst [][]byte, d arrow.ArrayData, start, count int) [][]byte {
	dst = slices.Grow(dst, count)
	for i := range count {
		from, to := offsetAt(d, start+i), offsetAt(d, start+i+1)
		s := []byte{}
		if to > from {
			s = d.Buffers()[2].Bytes()[from:to:to]
		}
		dst = append(dst, s)
	}
	return dst
}

// rebase returns the offsets of a list array, starting at 0, and the range of its values.
func rebase(a *array.List) (offsets []int32, start, count int) {
	d := a.Data()
	if a.Len() == 0 {
		return []int32{0}, 0, 0
	}
	raw := unsafe.Slice((*int32)(unsafe.Pointer(&d.Buffers()[1].Bytes()[4*d.Offset()])), a.Len()+1)
	start, count = int(raw[0]), int(raw[a.Len()]-raw[0])
	if start == 0 {
		return raw, start, count
	}
	offsets = make([]int32, len(raw))
	for i, o := range raw {
		offsets[i] = o - raw[0]
	}
	return offsets, start, count
}

func firstNull(a arrow.Array) int {
	for i := range a.Len() {
		if a.IsNull(i) {
			return i
		}
	}
	return -1
}

func anyNull(a arrow.Array, start, count int) bool {
	d := a.Data()
	return bitutil.CountSetBits(d.Buffers()[0].Bytes(), d.Offset()+start, count) < count
}
