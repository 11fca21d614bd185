package feature

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
)

// batch is a record whose columns are being computed. A value that several columns
// need is computed once, by the first of them. Batches and their memory are reused
// for one record after another.
type batch struct {
	rec     arrow.Record
	first   int64          // position in the pass of row 0
	index   map[string]int // of the raw features in the record
	turn    uint64         // counts the records
	raw     memo[string, *cells]
	whole   memo[string, []int64]
	real    memo[string, []float32]
	parsed  memo[readOf, []float32]
	hash    memo[string, []uint64]
	regular memo[int, []int32]
	tokened memo[tokensOf, *tokens]
	lists   memo[listOf, *idList]
	normal  memo[*Numeric, []float32]
}

// tokensOf is the key for the tokens of a feature.
type tokensOf struct {
	key   string
	steps bool
}

// listOf is the key for the ids of a column.
type listOf struct {
	column Column
	what   string // "": all ids; steps; or a form of known ids
}

// set begins another record.
func (b *batch) set(rec arrow.Record, first int64, index map[string]int) {
	b.rec, b.first, b.index = rec, first, index
	b.turn++
}

// forget drops the references to the record.
func (b *batch) forget() {
	b.rec = nil
	for _, e := range b.raw.entries {
		if e.value != nil {
			e.value.elems, e.value.missing = nil, nil
		}
	}
}

func (b *batch) rows() int { return int(b.rec.NumRows()) }

// ids returns the ids of a column, computed by f in the memory of an earlier list.
func (b *batch) ids(c Column, what string, f func(old *idList) (*idList, error)) (*idList, error) {
	return b.lists.get(b.turn, listOf{c, what}, func(old *idList) (*idList, error) {
		if old == nil {
			old = &idList{}
		}
		return f(old)
	})
}

func (b *batch) cells(key string) (*cells, error) {
	return b.raw.get(b.turn, key, func(old *cells) (*cells, error) {
		at, ok := b.index[key]
		if !ok {
			return nil, fmt.Errorf("feature %q is missing from a record", key)
		}
		if old == nil {
			old = &cells{}
		}
		return old, old.set(key, b.rec.Column(at))
	})
}

func (b *batch) ints(key string) ([]int64, error) {
	return b.whole.get(b.turn, key, func([]int64) ([]int64, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		return c.ints()
	})
}

func (b *batch) floats(key string) ([]float32, error) {
	return b.real.get(b.turn, key, func([]float32) ([]float32, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		return c.floats()
	})
}

// numbers returns the values of a feature as a numeric column reads them.
func (b *batch) numbers(key string, r Reading) ([]float32, error) {
	if r.Part == "" {
		return b.floats(key)
	}
	return b.parsed.get(b.turn, readOf{key, r}, func(old []float32) ([]float32, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		return r.numbers(c, old)
	})
}

// hashes returns the fingerprint of each string of a feature, or the numbers
// themselves for integers: crosses chain these.
func (b *batch) hashes(key string) ([]uint64, error) {
	return b.hash.get(b.turn, key, func(old []uint64) ([]uint64, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		t, err := c.texts()
		if err != nil {
			ints, err := b.ints(key)
			return convertInto(old, ints), err
		}
		out := sized(old, c.count)
		for i := range out {
			out[i] = Fingerprint64(t.value(i))
		}
		return out, nil
	})
}

// tokens are the present values of a feature. Like TensorFlow, they leave out
// empty strings and -1 in dense features, but nothing in sparse ones.
type tokens struct {
	*cells
	offsets []int32 // row i has tokens offsets[i] to offsets[i+1]-1
	at      []int32 // position of each token's value, -1 for a missing step of a sequence; nil: token i is value i
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

// tokens returns the present values of a feature. With steps, steps of a sequence
// without a value keep their place, except at the end.
func (b *batch) tokens(key string, steps bool) (*tokens, error) {
	return b.tokened.get(b.turn, tokensOf{key, steps}, func(t *tokens) (*tokens, error) {
		c, err := b.cells(key)
		if err != nil {
			return nil, err
		}
		absent, err := b.absent(c)
		if err != nil {
			return nil, err
		}
		if t == nil {
			t = &tokens{}
		}
		*t = tokens{cells: c, offsets: c.offsets}
		if absent != nil {
			t.drop(absent, steps)
		} else if t.offsets == nil {
			t.offsets = b.even(c.width)
		}
		return t, nil
	})
}

// absent marks the values that do not count; nil if all count.
func (b *batch) absent(c *cells) ([]bool, error) {
	if c.offsets != nil {
		return c.missing, nil
	}
	gone := func(i int) bool { return c.missing != nil && c.missing[i] }
	if t, err := c.texts(); err == nil {
		if c.missing == nil && !t.anyEmpty() {
			return nil, nil
		}
		return mark(c.count, func(i int) bool { return gone(i) || t.at[i] == t.at[i+1] }), nil
	}
	ints, err := b.ints(c.key)
	if err != nil {
		return nil, err
	}
	if c.missing == nil && !slices.Contains(ints, -1) {
		return nil, nil
	}
	return mark(c.count, func(i int) bool { return gone(i) || ints[i] == -1 }), nil
}

// mark returns, for each of n values, whether is is true.
func mark(n int, is func(i int) bool) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = is(i)
	}
	return out
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

// even returns the offsets of rows with width values each.
func (b *batch) even(width int) []int32 {
	out, _ := b.regular.get(b.turn, width, func(old []int32) ([]int32, error) {
		if len(old) == b.rows()+1 {
			return old, nil
		}
		out := make([]int32, b.rows()+1)
		for i := range out {
			out[i] = int32(i * width)
		}
		return out, nil
	})
	return out
}

// bad returns the error of a value; i is its position in a list with the given offsets.
func (b *batch) bad(column string, offsets []int32, i int, value string, err error) error {
	row := sort.Search(len(offsets)-1, func(r int) bool { return int(offsets[r+1]) > i })
	return &inputs.RowError{Column: column, Row: b.first + int64(row), Element: i - int(offsets[row]), Value: value, Err: err}
}

// idList holds the ids of a categorical column.
type idList struct {
	values  []int64 // -1: no id, as for a value outside a vocabulary
	offsets []int32 // row i has values offsets[i] to offsets[i+1]-1
	weights []float32
	at      []int32 // position of each id's value in from; nil: unknown
	from    *cells
}

// newIDs sets l to the ids of tokens; id returns the id of the value at a position.
func newIDs(l *idList, t *tokens, id func(value int) (int64, error), bad func(token int, err error) error) (*idList, error) {
	*l = idList{values: sized(l.values, t.len()), offsets: t.offsets, at: t.at, from: t.cells}
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

// drops reports whether id i is -1 or, for a positive list, has a weight that is
// not positive.
func (l *idList) drops(i int, positive bool) bool {
	return l.values[i] < 0 || positive && l.weights != nil && l.weights[i] <= 0
}

func (l *idList) dropsAny(positive bool) bool {
	for i := range l.values {
		if l.drops(i, positive) {
			return true
		}
	}
	return false
}

// known sets out to the ids that are not dropped.
func (l *idList) known(positive bool, out *idList) {
	*out = idList{offsets: sized(out.offsets, len(l.offsets)), values: sized(out.values, len(l.values))[:0], weights: out.weights}
	out.offsets[0] = 0
	if l.weights != nil {
		out.weights = sized(out.weights, len(l.values))[:0]
	} else {
		out.weights = nil
	}
	for row := range len(l.offsets) - 1 {
		for i := int(l.offsets[row]); i < int(l.offsets[row+1]); i++ {
			if l.drops(i, positive) {
				continue
			}
			out.values = append(out.values, l.values[i])
			if l.weights != nil {
				out.weights = append(out.weights, l.weights[i])
			}
		}
		out.offsets[row+1] = int32(len(out.values))
	}
}

func showInt(v int64) string { return strconv.FormatInt(v, 10) }
