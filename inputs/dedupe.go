package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Dedupe keeps the first of the rows whose named columns are equal, as tf.data's unique; without names all columns count. Numbers are
// equal if their bytes are: 0 and -0 differ, a NaN equals itself. For each row delivered, it keeps 16 bytes of a hash (SHA-256) in memory
// and in saved positions.
func Dedupe(columns ...string) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		d := up.derive(fmt.Sprintf("dedupe%q", columns), nil)
		var at []int
		for _, name := range columns {
			if _, err := up.schema.Column(name); err != nil && up.err == nil {
				return up.refuse("dedupe: %w", err)
			}
			at = append(at, up.schema.Index(name))
		}
		if len(columns) == 0 {
			for i := range up.schema.columns {
				at = append(at, i)
			}
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &dedupeStage{up: st, node: d, at: at, seen: map[rowHash]struct{}{}}, nil
		}
		return d
	}
}

type rowHash [16]byte

type dedupeStage struct {
	up    stage
	node  *node
	at    []int // columns that are compared
	seen  map[rowHash]struct{}
	order []rowHash // seen, in order
	bytes []byte    // values of the current row
}

func (s *dedupeStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := s.up.pull(ctx, limit)
		if err != nil {
			return nil, err
		}
		rec, err = keepRows(s.node, rec, func(i int) bool { return s.isNew(rec, i) })
		if rec != nil || err != nil {
			return rec, err
		}
	}
}

// isNew reports whether a row differs from all earlier ones, and remembers it.
func (s *dedupeStage) isNew(rec arrow.Record, row int) bool {
	s.bytes = s.bytes[:0]
	for _, k := range s.at {
		s.bytes = appendCell(s.bytes, rec.Column(k).Data(), row)
	}
	sum := sha256.Sum256(s.bytes)
	h := rowHash(sum[:16])
	if _, known := s.seen[h]; known {
		return false
	}
	s.seen[h] = struct{}{}
	s.order = append(s.order, h)
	return true
}

// appendCell appends the bytes of a value. For two values of the same type, they are equal only if the values are.
func appendCell(dst []byte, d arrow.ArrayData, row int) []byte {
	if hasNulls(d) && !bitmapAt(d, 0, row) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch t := d.DataType().(type) {
	case *arrow.BooleanType:
		if bitmapAt(d, 1, row) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *arrow.BinaryType, *arrow.StringType:
		from, to := offsetAt(d, row), offsetAt(d, row+1)
		dst = binary.AppendUvarint(dst, uint64(to-from))
		if to == from {
			return dst
		}
		return append(dst, d.Buffers()[2].Bytes()[from:to]...)
	case *arrow.FixedSizeListType:
		size := int(t.Len())
		return appendCells(dst, d.Children()[0], (d.Offset()+row)*size, size)
	case *arrow.ListType:
		from, to := offsetAt(d, row), offsetAt(d, row+1)
		return appendCells(binary.AppendUvarint(dst, uint64(to-from)), d.Children()[0], from, to-from)
	case arrow.FixedWidthDataType:
		w := t.BitWidth() / 8
		at := (d.Offset() + row) * w
		return append(dst, d.Buffers()[1].Bytes()[at:at+w]...)
	}
	panic(fmt.Sprintf("inputs: a column of Arrow type %s", d.DataType())) // no Column has another type
}

func appendCells(dst []byte, d arrow.ArrayData, from, n int) []byte {
	for i := range n {
		dst = appendCell(dst, d, from+i)
	}
	return dst
}

func (s *dedupeStage) save(w *stateWriter) error {
	size := int64(len(s.order) * len(rowHash{}))
	if err := w.fits(size); err != nil { // writing all hashes every few records would take longer than reading
		return err
	}
	w.room -= size
	all := make([]byte, 0, len(s.order)*len(rowHash{}))
	for _, h := range s.order {
		all = append(all, h[:]...)
	}
	w.bytes(all)
	return s.up.save(w)
}

func (s *dedupeStage) load(ctx context.Context, r *stateReader) error {
	all := r.bytes()
	if r.err != nil {
		return r.err
	}
	if len(all)%len(rowHash{}) != 0 {
		return fmt.Errorf("%w: hashes of rows are cut short", ErrBadState)
	}
	s.seen, s.order = map[rowHash]struct{}{}, nil
	for h := range slices.Chunk(all, len(rowHash{})) {
		s.seen[rowHash(h)] = struct{}{}
		s.order = append(s.order, rowHash(h))
	}
	return s.up.load(ctx, r)
}

func (s *dedupeStage) close() error { return s.up.close() }

// int64At returns a value of a column of integers.
func int64At(arr arrow.Array, i int) (int64, bool) {
	switch a := arr.(type) {
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Boolean:
		if a.Value(i) {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
