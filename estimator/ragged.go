package estimator

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// raggedSizes is the capacity of a program for each ragged column. It begins with the
// least, since most columns have one value per example, and grows with the data.
type raggedSizes map[string]models.RaggedSize

// raise returns the larger of both sizes for each column.
func (s raggedSizes) raise(o raggedSizes) raggedSizes {
	out := maps.Clone(s)
	if out == nil {
		out = raggedSizes{}
	}
	for name, b := range o {
		a := out[name]
		out[name] = models.RaggedSize{Capacity: max(a.Capacity, b.Capacity, 1), Length: max(a.Length, b.Length, 1)}
	}
	return out
}

// raggedFeed stages a ragged column: its values, padded to the capacity, and its offsets.
type raggedFeed struct {
	*models.RaggedInput
	column int               // of the schema
	like   int               // the column of the schema that must have equal offsets, -1 for none
	most   models.RaggedSize // the largest sizes of batches since headroom's last check
}

// raggedTensors are a batch's two tensors of a ragged column.
type raggedTensors struct {
	values, offsets tensor.Tensor
	padded          []byte // memory for values, unless they are the record's own
	wide            []int64
	narrow          []int32 // the source of wide and longest: most batches have the same shape
	longest         int
}

// stage sets dst to the column's tensors for a batch of rows. If they do not fit, need
// is the capacity that they require, and dst must not be used.
func (f *raggedFeed) stage(dst *raggedTensors, columns []inputs.NamedTensor, rows int) (need models.RaggedSize, err error) {
	t := columns[f.column]
	if err := f.check(t, columns); err != nil {
		return need, err
	}
	values := t.Tensor.Shape[0]
	need.Capacity = roundedUp((values + rows - 1) / max(rows, 1))
	dst.setOffsets(t.Offsets)
	if f.Padded {
		need.Length = powerOfTwo((dst.longest + f.Step - 1) / f.Step)
	}
	f.most = models.RaggedSize{Capacity: max(f.most.Capacity, need.Capacity), Length: max(f.most.Length, need.Length)}
	if need.Capacity > f.Capacity || need.Length > f.Length {
		return need, nil
	}
	dst.set(t, f.Capacity*rows)
	return need, nil
}

// check checks that the model accepts the values and offsets.
func (f *raggedFeed) check(t inputs.NamedTensor, columns []inputs.NamedTensor) error {
	if f.like >= 0 {
		if o := columns[f.like]; !slices.Equal(o.Offsets, t.Offsets) {
			row := 0
			for row+1 < min(len(o.Offsets), len(t.Offsets))-1 && o.Offsets[row+1] == t.Offsets[row+1] {
				row++
			}
			return f.bad(row, 0, fmt.Errorf("expected as many values as in column %q", o.Name))
		}
	}
	if f.Step > 1 {
		for i := range len(t.Offsets) - 1 {
			if n := int(t.Offsets[i+1] - t.Offsets[i]); n%f.Step != 0 {
				return f.bad(i, 0, fmt.Errorf("%d values: expected a multiple of %d, the values of a step", n, f.Step))
			}
		}
	}
	if f.Limit == 0 {
		return nil
	}
	at := -1
	switch t.Tensor.DType {
	case tensor.Int64:
		at = firstNotBelow(tensor.Values[int64](t.Tensor), f.Limit)
	case tensor.Int32:
		at = firstNotBelow(tensor.Values[int32](t.Tensor), f.Limit)
	}
	if at < 0 {
		return nil
	}
	e := &IDError{Limit: f.Limit}
	row, _ := slices.BinarySearch(t.Offsets, int32(at+1))
	row--
	if t.Tensor.DType == tensor.Int32 {
		e.ID = int64(tensor.Values[int32](t.Tensor)[at])
	} else {
		e.ID = tensor.Values[int64](t.Tensor)[at]
	}
	return f.bad(row, at-int(t.Offsets[row]), e)
}

// bad returns the error for an element of a row.
func (f *raggedFeed) bad(row, element int, err error) error {
	return &inputs.RowError{Column: f.Name, Row: int64(row), InBatch: true, Element: element, Err: err}
}

// IDError reports an id that selects no row of a model's table. The inputs.RowError that wraps it names the
// column and row.
type IDError struct {
	ID    int64
	Limit int64 // rows of the table
}

// Error names the id.
func (e *IDError) Error() string {
	return fmt.Sprintf("id %d: expected an id below %d, the rows of the model's table", e.ID, e.Limit)
}

func firstNotBelow[T int32 | int64](ids []T, limit int64) int {
	for i, id := range ids {
		if int64(id) >= limit {
			return i
		}
	}
	return -1
}

// set takes the tensors from t, padded to n values.
func (d *raggedTensors) set(t inputs.NamedTensor, n int) {
	d.values.DType, d.values.Shape = t.Tensor.DType, append(d.values.Shape[:0], n)
	if size := n * t.Tensor.DType.Size(); size == len(t.Tensor.Bytes) {
		d.values.Bytes = t.Tensor.Bytes
	} else {
		if cap(d.padded) < size {
			d.padded = tensor.New(tensor.Uint8, size).Bytes
		}
		d.values.Bytes = d.padded[:size]
		pad(d.values.Bytes[copy(d.values.Bytes, t.Tensor.Bytes):], t.Tensor.DType)
	}
	d.offsets.DType, d.offsets.Shape = tensor.Int64, append(d.offsets.Shape[:0], len(d.wide))
	d.offsets.Bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(d.wide))), 8*len(d.wide))
}

// setOffsets sets a batch's offsets.
func (d *raggedTensors) setOffsets(offsets []int32) {
	if slices.Equal(d.narrow, offsets) {
		return
	}
	d.narrow = append(d.narrow[:0], offsets...)
	d.wide, d.longest = d.wide[:0], 0
	for i, o := range offsets {
		d.wide = append(d.wide, int64(o))
		if i > 0 {
			d.longest = max(d.longest, int(o-offsets[i-1]))
		}
	}
}

// pad fills b with -1 for an integer type, else with 0.
func pad(b []byte, d tensor.DType) {
	if d != tensor.Int32 && d != tensor.Int64 {
		clear(b)
		return
	}
	for i := range b {
		b[i] = 0xff
	}
}

// roundedUp returns the least number with three significant bits that is not less than
// max(n, 1). It exceeds n by a quarter at most.
func roundedUp(n int) int {
	step := 1 << max(bits.Len(uint(max(n, 1)))-3, 0)
	return max((n+step-1)/step*step, 1)
}

// powerOfTwo is the least power of two that is not less than n, 1 at least.
func powerOfTwo(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}
