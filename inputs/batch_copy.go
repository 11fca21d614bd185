package inputs

import (
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// batchCopier copies records to batch memory, into frames that it reuses once they
// are released. It is safe for concurrent use.
type batchCopier struct {
	mem    BatchMemory
	schema *arrow.Schema

	mu     sync.Mutex
	free   []*copiedFrame
	closed bool
}

// copiedFrame is a frame of a batchCopier.
type copiedFrame struct {
	out     Frame
	of      *batchCopier
	columns []arrow.Array
	buffers []*memory.Buffer // memory of the columns of dense numbers; the frame owns them
	rows    int64
	back    func()
}

// newBatchCopier returns nil if there is no batch memory.
func newBatchCopier(mem BatchMemory, s *Schema) *batchCopier {
	if mem == nil {
		return nil
	}
	return &batchCopier{mem: mem, schema: s.Arrow()}
}

// copyRecord returns rec, or a copy of it in batch memory. It takes
// ownership of rec, even if it fails.
func (s *batchCopier) copyRecord(rec arrow.Record) (arrow.Record, error) {
	if s == nil || !prefers(s.mem, rec) {
		return rec, nil
	}
	defer rec.Release()
	f := s.frame(rec.NumRows())
	for i := range f.columns {
		if err := f.copy(i, peek(rec, i)); err != nil {
			f.release()
			return nil, fmt.Errorf("column %q: %w", s.schema.Field(i).Name, err)
		}
	}
	f.out.Reset(s.schema, f.columns, f.rows, f.back)
	return &f.out, nil
}

// frame returns a free frame for that many rows, or a new one.
func (s *batchCopier) frame(rows int64) *copiedFrame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free) - 1; n >= 0 {
		f := s.free[n]
		s.free[n] = nil
		s.free = s.free[:n]
		if f.rows == rows {
			return f
		}
		f.release()
	}
	n := s.schema.NumFields()
	f := &copiedFrame{of: s, rows: rows, columns: make([]arrow.Array, n), buffers: make([]*memory.Buffer, n)}
	f.back = f.recycle
	return f
}

// copy copies arr to column i.
func (f *copiedFrame) copy(i int, arr arrow.Array) error {
	from := values(arr)
	if b := f.buffers[i]; b != nil && len(from) == b.Len() {
		copy(b.Bytes(), from)
		return nil
	}
	if f.columns[i] != nil {
		f.columns[i].Release()
		f.columns[i], f.buffers[i] = nil, nil
	}
	t := f.of.schema.Field(i).Type
	if from != nil {
		b := newBuffer(f.of.mem, len(from))
		copy(b.Bytes(), from)
		f.columns[i], f.buffers[i] = denseArray(t, int(f.rows), b), b
		b.Release() // the array now owns the reference
		return nil
	}
	d, err := gatherData(memory.NewGoAllocator(), t, []arrow.ArrayData{arr.Data()}, []span{{0, 0, arr.Len()}})
	if err != nil {
		return err
	}
	defer d.Release()
	f.columns[i] = array.MakeFromData(d)
	return nil
}

// recycle returns the frame to the copier.
func (f *copiedFrame) recycle() {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.of.closed {
		f.release()
		return
	}
	f.of.free = append(f.of.free, f)
}

// release frees the memory.
func (f *copiedFrame) release() {
	for i, c := range f.columns {
		if c != nil {
			c.Release()
		}
		f.columns[i], f.buffers[i] = nil, nil
	}
}

// close frees the unused frames now, and the others when they are released.
func (s *batchCopier) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, f := range s.free {
		f.release()
	}
	s.free = nil
}
