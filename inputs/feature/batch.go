package feature

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// batch is a record whose columns are being computed. What several columns need
// is computed once, by whoever comes first.
type batch struct {
	rec   arrow.Record
	first int64          // position in the pass of row 0
	index map[string]int // of the raw features in the record
	mu    sync.Mutex
	known map[any]*lazy
}

type lazy struct {
	once  sync.Once
	value any
	err   error
}

func newBatch(rec arrow.Record, first int64, index map[string]int) *batch {
	return &batch{rec: rec, first: first, index: index, known: map[any]*lazy{}}
}

func (b *batch) rows() int { return int(b.rec.NumRows()) }

var errPanicked = errors.New("computing it panicked")

// once returns what f computes, which is kept under key.
func once[T any](b *batch, key any, f func() (T, error)) (T, error) {
	b.mu.Lock()
	l := b.known[key]
	if l == nil {
		l = &lazy{err: errPanicked}
		b.known[key] = l
	}
	b.mu.Unlock()
	l.once.Do(func() { l.value, l.err = f() })
	if l.err != nil {
		var none T
		return none, l.err
	}
	return l.value.(T), nil
}

// Keys of what is kept, most by raw feature.
type (
	cellsOf  string
	intsOf   string
	floatsOf string
	hashesOf string
	evenOf   int // by width
	tokensOf struct {
		key   string
		steps bool
	}
)

func (b *batch) cells(key string) (*cells, error) {
	return once(b, cellsOf(key), func() (*cells, error) {
		at, ok := b.index[key]
		if !ok {
			return nil, fmt.Errorf("feature %q is missing from a record", key)
		}
		return newCells(key, b.rec.Column(at))
	})
}

func (b *batch) ints(key string) ([]int64, error) {
	return once(b, intsOf(key), func() ([]int64, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		return c.ints()
	})
}

func (b *batch) floats(key string) ([]float32, error) {
	return once(b, floatsOf(key), func() ([]float32, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		return c.floats()
	})
}

// hashes returns the fingerprint of every string of a feature, of integers the
// numbers themselves: what crosses chain.
func (b *batch) hashes(key string) ([]uint64, error) {
	return once(b, hashesOf(key), func() ([]uint64, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		t, err := c.texts()
		if err != nil {
			ints, err := b.ints(key)
			return convert[uint64](ints), err
		}
		out := make([]uint64, c.count)
		for i := range out {
			out[i] = Fingerprint64(t.value(i))
		}
		return out, nil
	})
}

// tokens are the values of a feature that are present. TensorFlow drops the
// empty strings and -1 of dense features, and nothing of sparse ones.
type tokens struct {
	*cells
	offsets []int32 // row i has tokens offsets[i] to offsets[i+1]-1
	at      []int32 // which value each token is, -1 a missing step of a sequence; nil: the i-th is value i
}

// value returns the position of token i among the feature's values.
func (t *tokens) value(i int) int {
	if t.at == nil {
		return i
	}
	return int(t.at[i])
}

// len returns the number of tokens.
func (t *tokens) len() int { return int(t.offsets[len(t.offsets)-1]) }

// tokens returns the present values of a feature. In steps of a sequence, those
// that lack a value keep their place, but for the last ones.
func (b *batch) tokens(key string, steps bool) (*tokens, error) {
	return once(b, tokensOf{key, steps}, func() (*tokens, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		absent, err := b.absent(c)
		if err != nil {
			return nil, err
		}
		t := &tokens{cells: c, offsets: c.offsets}
		if absent != nil {
			t.drop(absent, steps)
		} else if t.offsets == nil {
			t.offsets = b.even(c.width)
		}
		return t, nil
	})
}

// absent marks the values that do not count, nil if all do.
func (b *batch) absent(c *cells) ([]bool, error) {
	if c.offsets != nil {
		return c.missing, nil
	}
	out, any := make([]bool, c.count), c.missing != nil
	copy(out, c.missing)
	if t, err := c.texts(); err == nil {
		for i := range out {
			if t.at[i] == t.at[i+1] {
				out[i], any = true, true
			}
		}
	} else {
		ints, err := b.ints(c.key)
		if err != nil {
			return nil, err
		}
		for i, v := range ints {
			if v == -1 {
				out[i], any = true, true
			}
		}
	}
	if !any {
		return nil, nil
	}
	return out, nil
}

// drop leaves out absent values.
func (t *tokens) drop(absent []bool, steps bool) {
	t.offsets, t.at = make([]int32, t.rows+1), make([]int32, 0, t.count)
	for row := range t.rows {
		from, to := t.span(row)
		for steps && to > from && absent[to-1] {
			to--
		}
		for i := from; i < to; i++ {
			switch {
			case !absent[i]:
				t.at = append(t.at, int32(i))
			case steps:
				t.at = append(t.at, -1)
			}
		}
		t.offsets[row+1] = int32(len(t.at))
	}
}

// even returns the offsets of rows of width values each.
func (b *batch) even(width int) []int32 {
	out, _ := once(b, evenOf(width), func() ([]int32, error) {
		out := make([]int32, b.rows()+1)
		for i := range out {
			out[i] = int32(i * width)
		}
		return out, nil
	})
	return out
}

// bad returns the error of a value in the row whose position in the list is i.
func (b *batch) bad(column string, offsets []int32, i int, value string, err error) error {
	row := sort.Search(len(offsets)-1, func(r int) bool { return int(offsets[r+1]) > i })
	return &RowError{Column: column, Row: b.first + int64(row), Value: value, Err: err}
}

// idList holds the ids of a categorical column.
type idList struct {
	values  []int64 // -1: none, as of a value outside a vocabulary
	offsets []int32 // row i has values offsets[i] to offsets[i+1]-1
	weights []float32
	at      []int32 // which value of a dense feature each id comes from; nil: unknown
}

// newIDs returns the ids of tokens: id gives that of a value, by its position.
func newIDs(t *tokens, id func(value int) (int64, error), bad func(token int, err error) error) (*idList, error) {
	l := &idList{values: make([]int64, t.len()), offsets: t.offsets, at: t.at}
	for i := range l.values {
		v := t.value(i)
		if v < 0 {
			l.values[i] = -1
			continue
		}
		var err error
		if l.values[i], err = id(v); err != nil {
			return nil, bad(i, err)
		}
	}
	return l, nil
}

// known leaves out ids of -1 and, of a positive list, those with a weight that is not.
func (l *idList) known(positive bool) *idList {
	drop := func(i int) bool { return l.values[i] < 0 || positive && l.weights != nil && l.weights[i] <= 0 }
	some := false
	for i := range l.values {
		if some = drop(i); some {
			break
		}
	}
	if !some {
		return l
	}
	out := &idList{offsets: make([]int32, len(l.offsets)), values: make([]int64, 0, len(l.values))}
	if l.weights != nil {
		out.weights = make([]float32, 0, len(l.values))
	}
	for row := range len(l.offsets) - 1 {
		for i := int(l.offsets[row]); i < int(l.offsets[row+1]); i++ {
			if drop(i) {
				continue
			}
			out.values = append(out.values, l.values[i])
			if l.weights != nil {
				out.weights = append(out.weights, l.weights[i])
			}
		}
		out.offsets[row+1] = int32(len(out.values))
	}
	return out
}

func showInt(v int64) string { return strconv.FormatInt(v, 10) }
