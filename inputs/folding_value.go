package inputs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// mostFoldValues bounds the classes and groups that a pass remembers.
const mostFoldValues = 1 << 16

// byValue is the fold rule by classes or groups.
type byValue struct {
	f     Folding
	at    int // index of the column
	seen  map[rowHash]*foldValue
	order []*foldValue // values of seen, in order of appearance
	bytes []byte       // of the current value
}

// foldValue is a class or a group.
type foldValue struct {
	hash  rowHash
	index int   // among all, in order of appearance
	count int64 // rows of a class seen so far
}

func (f *byValue) fold(rec arrow.Record, row int) (int, error) {
	column := peek(rec, f.at)
	x, float := floatAt(column, row)
	if math.IsNaN(x) { // neither a class nor a group
		return 0, &RowError{Column: f.f.column(), Value: "NaN", Err: errors.New("rows cannot be divided by it: correct it, or leave the row out")}
	}
	if f.bytes = appendCell(f.bytes[:0], column.Data(), row); float && x == 0 {
		clear(f.bytes[1:]) // -0 equals 0
	}
	sum := sha256.Sum256(f.bytes)
	h := rowHash(sum[:16])
	v := f.seen[h]
	if v == nil {
		if len(f.order) == mostFoldValues {
			if f.f.Group != "" {
				return int(binary.LittleEndian.Uint64(h[:8]) % uint64(f.f.Folds)), nil
			}
			return 0, fmt.Errorf("stratify: column %q has more than %d values: expected a column of classes", f.f.Stratify, mostFoldValues)
		}
		v = f.add(h, 0)
	}
	if f.f.Group != "" {
		return v.index % f.f.Folds, nil
	}
	k := (int64(v.index) + v.count) % int64(f.f.Folds)
	v.count++
	return int(k), nil
}

func (f *byValue) add(h rowHash, count int64) *foldValue {
	v := &foldValue{hash: h, index: len(f.order), count: count}
	f.seen[h] = v
	f.order = append(f.order, v)
	return v
}

// floatAt returns a value of a column of floats.
func floatAt(column arrow.Array, row int) (float64, bool) {
	switch a := column.(type) {
	case *array.Float32:
		return float64(a.Value(row)), true
	case *array.Float64:
		return a.Value(row), true
	}
	return 0, false
}

func (f *byValue) save(w *stateWriter) {
	w.int(int64(len(f.order)))
	for _, v := range f.order {
		w.bytes(v.hash[:])
		w.int(v.count)
	}
}

func (f *byValue) load(r *stateReader) error {
	f.seen, f.order = map[rowHash]*foldValue{}, nil
	for range r.count(mostFoldValues) {
		b := r.bytes()
		count := r.count(math.MaxInt64)
		if r.err != nil {
			return r.err
		}
		if len(b) != len(rowHash{}) || f.seen[rowHash(b)] != nil {
			return fmt.Errorf("%w: a class or group is damaged", ErrBadState)
		}
		f.add(rowHash(b), count)
	}
	return r.err
}
