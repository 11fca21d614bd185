package eager

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/tensor"
)

// Table is a lookup table from strings or numbers to tensors of the same type
// and shape. Lookups take no lock: changes replace the content.
type Table struct {
	name       string
	key, value tensor.DType
	shape      []int // of a value
	mutable    bool
	marks      []*tensor.Tensor // of a dense table: its empty and its deleted key, which no entry has

	mu   sync.Mutex // held for changes
	data atomic.Pointer[tableData]
}

// tableData is a table's content; it never changes.
type tableData struct {
	texts   map[string]int // key to row
	numbers map[int64]int  // of other keys, by their bits
	keys    []int64
	words   [][]byte
	values  *tensor.Tensor // [n, shape...]
}

// fork returns a table with the same content.
func (t *Table) fork() *Table {
	f := &Table{name: t.name, key: t.key, value: t.value, shape: t.shape, mutable: t.mutable, marks: t.marks}
	f.data.Store(t.data.Load())
	return f
}

// Len returns the number of entries.
func (t *Table) Len() int {
	if d := t.data.Load(); d != nil {
		return len(d.texts) + len(d.numbers)
	}
	return 0
}

// content returns the table's content.
func (t *Table) content() (*tableData, error) {
	d := t.data.Load()
	if d == nil && !t.mutable {
		return nil, fmt.Errorf("Table not initialized: table %q is %w", t.name, ErrUninitialized)
	}
	return d, nil
}

// keyBits returns the elements of a key tensor as integers.
func keyBits(t *tensor.Tensor) ([]int64, error) {
	if t.DType == tensor.Int64 {
		return tensor.Values[int64](t), nil
	}
	out := tensor.New(tensor.Int64, t.Shape...)
	switch t.DType {
	case tensor.Float32:
		return widenBits(out, cells[uint32](t)), nil
	case tensor.Float64:
		return widenBits(out, cells[uint64](t)), nil
	}
	err := recast(out, t)
	return tensor.Values[int64](out), err
}

func widenBits[T uint32 | uint64](out *tensor.Tensor, src []T) []int64 {
	dst := tensor.Values[int64](out)
	for i, v := range src {
		dst[i] = int64(v)
	}
	return dst
}

// check fails unless the types of keys and values are the table's and their shapes fit.
func (t *Table) check(keys, values *tensor.Tensor) error {
	if keys.DType != t.key || values.DType != t.value {
		return fmt.Errorf("table %q maps %v to %v, got keys of type %v and values of type %v", t.name, t.key, t.value, keys.DType, values.DType)
	}
	if !slices.Equal(values.Shape, slices.Concat(keys.Shape, t.shape)) {
		return fmt.Errorf("expected values of shape %v for keys of shape %v, got %v", slices.Concat(keys.Shape, t.shape), keys.Shape, values.Shape)
	}
	return nil
}

// put returns old (nil: no entries) with entries added. If strict, a key with
// two values is an error; otherwise the last value counts.
func (t *Table) put(old *tableData, keys, values *tensor.Tensor, strict bool) (*tableData, error) {
	if err := t.check(keys, values); err != nil {
		return nil, err
	}
	width := product(t.shape)
	n := keys.Len()
	had := 0
	d := &tableData{}
	if old != nil {
		had = old.values.Shape[0]
		d.keys, d.words = slices.Clone(old.keys), slices.Clone(old.words)
	}
	all := tensor.New(t.value, append([]int{had + n}, t.shape...)...)
	if old != nil {
		copyCells(all, 0, old.values, 0, had*width)
	}
	place := t.index(d, had+n)
	bits, err := []int64(nil), error(nil)
	if t.key != tensor.String {
		if bits, err = keyBits(keys); err != nil {
			return nil, err
		}
	}
	rows := had
	for i := range n {
		row, known := place(keys, bits, i, rows)
		if known && strict && !sameCells(all, row*width, values, i*width, width) {
			return nil, fmt.Errorf("HashTable has different value for same key. Key %s has two values", t.keyText(keys, i))
		}
		if !known {
			rows++
		}
		copyCells(all, row*width, values, i*width, width)
	}
	d.values = rowsOf(all, rows, width, t.shape)
	return d, nil
}

// rowsOf returns the first n rows of a tensor.
func rowsOf(t *tensor.Tensor, n, width int, shape []int) *tensor.Tensor {
	return rows(t, append([]int{n}, shape...), 0, n*width)
}

// index rebuilds d's map with room for n keys, and returns a function that finds
// the row of key i of a tensor, or adds the key as row `next`.
func (t *Table) index(d *tableData, n int) func(keys *tensor.Tensor, bits []int64, i, next int) (row int, known bool) {
	if t.key == tensor.String {
		d.texts = make(map[string]int, n)
		for i, w := range d.words {
			d.texts[string(w)] = i
		}
		return func(keys *tensor.Tensor, _ []int64, i, next int) (int, bool) {
			k := keys.Strings[i]
			if row, ok := d.texts[string(k)]; ok {
				return row, true
			}
			d.texts[string(k)] = next
			d.words = append(d.words, k)
			return next, false
		}
	}
	d.numbers = make(map[int64]int, n)
	for i, k := range d.keys {
		d.numbers[k] = i
	}
	return func(_ *tensor.Tensor, bits []int64, i, next int) (int, bool) {
		if row, ok := d.numbers[bits[i]]; ok {
			return row, true
		}
		d.numbers[bits[i]] = next
		d.keys = append(d.keys, bits[i])
		return next, false
	}
}

func (t *Table) keyText(keys *tensor.Tensor, i int) string {
	if t.key == tensor.String {
		return string(clip(keys.Strings[i]))
	}
	return fmt.Sprint(keys.Float(i))
}

// sameCells reports whether n cells of two tensors of the same type are equal.
func sameCells(a *tensor.Tensor, i int, b *tensor.Tensor, j, n int) bool {
	if a.DType == tensor.String {
		return slices.EqualFunc(a.Strings[i:i+n], b.Strings[j:j+n], func(x, y []byte) bool { return string(x) == string(y) })
	}
	size := a.DType.Size()
	return string(a.Bytes[i*size:(i+n)*size]) == string(b.Bytes[j*size:(j+n)*size])
}

// initialize sets the table's content once: a second call does nothing.
func (t *Table) initialize(keys, values *tensor.Tensor) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.data.Load() != nil {
		return nil
	}
	d, err := t.put(nil, keys, values, true)
	if err == nil {
		t.data.Store(d)
	}
	return err
}

// insert adds entries; replace drops the existing ones.
func (t *Table) insert(keys, values *tensor.Tensor, replace bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mutable && t.data.Load() != nil {
		return fmt.Errorf("table %q cannot be changed", t.name)
	}
	old := t.data.Load()
	if replace {
		old = nil
	}
	d, err := t.put(old, keys, values, false)
	if err == nil {
		t.data.Store(d)
	}
	return err
}

// find outputs the values of keys, or the default for keys without an entry.
// The default is one value, or one per key.
func (t *Table) find(c call, keys, def *tensor.Tensor) error {
	width := product(t.shape)
	each := slices.Equal(def.Shape, slices.Concat(keys.Shape, t.shape)) && len(keys.Shape) > 0
	if keys.DType != t.key || def.DType != t.value || !each && !slices.Equal(def.Shape, t.shape) {
		return fmt.Errorf("table %q maps %v to %v of shape %v, got keys of type %v and a default of type %v and shape %v",
			t.name, t.key, t.value, t.shape, keys.DType, def.DType, def.Shape)
	}
	if err := t.refuseMarks(keys); err != nil {
		return err
	}
	d, err := t.content()
	if err != nil {
		return err
	}
	out, err := c.output(0, t.value, slices.Concat(keys.Shape, t.shape)...)
	if err != nil {
		return err
	}
	place, err := d.places(keys)
	if err != nil {
		return err
	}
	if t.value == tensor.Int64 && width == 1 && !each {
		dst, v := tensor.Values[int64](out), tensor.Values[int64](def)[0]
		for i := range dst {
			if row := place(i); row < 0 {
				dst[i] = v
			} else {
				dst[i] = tensor.Values[int64](d.values)[row]
			}
		}
		return nil
	}
	for i := range keys.Len() {
		row, from := place(i), def
		if row >= 0 {
			from = d.values
		} else if row = 0; each {
			row = i
		}
		copyCells(out, i*width, from, row*width, width)
	}
	return nil
}

// places returns a function that finds the row of key i, or -1.
func (d *tableData) places(keys *tensor.Tensor) (func(i int) int, error) {
	if d == nil {
		return func(int) int { return -1 }, nil
	}
	if keys.DType == tensor.String {
		return func(i int) int {
			if row, ok := d.texts[string(keys.Strings[i])]; ok {
				return row
			}
			return -1
		}, nil
	}
	bits, err := keyBits(keys)
	return func(i int) int {
		if row, ok := d.numbers[bits[i]]; ok {
			return row
		}
		return -1
	}, err
}

// keyTensor returns the keys in the order of the rows.
func (t *Table) keyTensor(d *tableData) (*tensor.Tensor, error) {
	if t.key == tensor.String {
		return tensor.FromStrings(d.words, len(d.words))
	}
	out := tensor.New(t.key, len(d.keys))
	switch t.key {
	case tensor.Float32:
		for i, k := range d.keys {
			cells[uint32](out)[i] = uint32(k)
		}
	case tensor.Float64:
		for i, k := range d.keys {
			cells[uint64](out)[i] = uint64(k)
		}
	default:
		src, err := tensor.FromSlice(d.keys, len(d.keys))
		if err != nil {
			return nil, err
		}
		return out, recast(out, src)
	}
	return out, nil
}
