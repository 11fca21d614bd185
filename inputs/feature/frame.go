package feature

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
)

// frames makes transformed records. It reuses the memory of records that were
// released.
type frames struct {
	schema *arrow.Schema
	passed int // columns of the input that come first in the records
	pool   sync.Pool
}

// frame is one such record: columns of the input, followed by made ones.
type frame struct {
	out     inputs.Frame
	of      *frames
	columns []arrow.Array
	made    []made
	back    func()
}

// made is the memory of a column.
type made struct {
	floats  []float32
	ints    []int64
	offsets []int32 // of a ragged column
	array   arrow.Array
}

// get returns a frame whose columns are still to be set.
func (s *frames) get() *frame {
	if f, ok := s.pool.Get().(*frame); ok {
		return f
	}
	n := s.schema.NumFields()
	f := &frame{of: s, columns: make([]arrow.Array, n), made: make([]made, n-s.passed)}
	f.back = f.giveBack
	return f
}

// record returns the frame as a record, once its columns are set.
func (f *frame) record(rows int64) arrow.Record {
	for i, m := range f.made {
		f.columns[f.of.passed+i] = m.array
	}
	f.out.Reset(f.of.schema, f.columns, rows, f.back)
	return &f.out
}

// giveBack makes the frame ready for another record.
func (f *frame) giveBack() {
	for i, c := range f.columns[:f.of.passed] {
		if c != nil {
			c.Release()
			f.columns[i] = nil
		}
	}
	f.of.pool.Put(f)
}

// dense makes the column one of rows vectors with width numbers, and returns the
// numbers, all zero, to be set.
func (m *made) dense(rows, width int) []float32 {
	if m.array == nil || m.array.Len() != rows || len(m.floats) != rows*width {
		m.floats = make([]float32, rows*width)
		m.keep(fixed(floatData(m.floats), rows, width))
	} else {
		clear(m.floats)
	}
	return m.floats
}

// numberLists makes the column one of lists of numbers.
func (m *made) numberLists(x []float32, offsets []int32) {
	if m.array == nil || len(m.floats) != len(x) || len(m.offsets) != len(offsets) {
		m.floats, m.offsets = make([]float32, len(x)), make([]int32, len(offsets))
		m.keep(lists(floatData(m.floats), m.offsets))
	}
	copy(m.floats, x)
	copy(m.offsets, offsets)
}

// idLists makes the column one of lists of ids.
func (m *made) idLists(x []int64, offsets []int32) {
	if m.array == nil || len(m.ints) != len(x) || len(m.offsets) != len(offsets) {
		m.ints, m.offsets = make([]int64, len(x)), make([]int32, len(offsets))
		m.keep(lists(intData(m.ints), m.offsets))
	}
	copy(m.ints, x)
	copy(m.offsets, offsets)
}

// keep replaces the array.
func (m *made) keep(a arrow.Array) {
	if m.array != nil {
		m.array.Release()
	}
	m.array = a
}
