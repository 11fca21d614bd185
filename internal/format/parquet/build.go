package parquet

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// builder makes arrays for the fields of one row group. It reads a leaf once, when its levels or values are first requested.
type builder struct {
	file   *file.Reader
	mem    memory.Allocator
	group  int
	rows   int64
	leaves map[int]*leaf
}

func (b *builder) release() {
	for _, l := range b.leaves {
		l.release()
	}
}

// array returns the n slots of f: rows for a field of the file, items for a list. The caller releases the result.
func (b *builder) array(f *field, n int64) (arrow.Array, error) {
	switch {
	case len(f.children) == 0:
		l, err := b.leaf(f)
		if err != nil {
			return nil, err
		}
		return l.array()
	case f.isList():
		return b.list(f, n)
	}
	return b.structure(f, n)
}

// leaf returns a column of the file.
func (b *builder) leaf(f *field) (*leaf, error) {
	if l := b.leaves[f.leaf]; l != nil {
		return l, nil
	}
	l, err := readLeaf(b, f)
	if err != nil {
		return nil, err
	}
	if b.leaves == nil {
		b.leaves = map[int]*leaf{}
	}
	b.leaves[f.leaf] = l
	return l, nil
}

// levelsOf returns the levels of f's lead.
func (b *builder) levelsOf(f *field) (def, rep []int16, err error) {
	l, err := b.leaf(f.lead)
	if err != nil {
		return nil, nil, err
	}
	def, rep = l.levels()
	return def, rep, nil
}

// bitmap returns a buffer for n bits.
func (b *builder) bitmap(n int64) *memory.Buffer { return b.buffer(bitutil.BytesForBits(n)) }

func (b *builder) buffer(bytes int64) *memory.Buffer {
	out := memory.NewResizableBuffer(b.mem)
	out.Resize(int(bytes))
	return out
}

// structure returns a struct array of n slots.
func (b *builder) structure(f *field, n int64) (arrow.Array, error) {
	valid, nulls, err := b.present(f, n)
	if err != nil {
		return nil, err
	}
	if valid != nil {
		defer valid.Release()
	}
	children := make([]arrow.ArrayData, len(f.children))
	for i, c := range f.children {
		a, err := b.array(c, n)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		if int64(a.Len()) != n {
			return nil, fmt.Errorf("%q has %d values, expected %d", c.Name, a.Len(), n)
		}
		children[i] = a.Data()
	}
	data := array.NewData(f.Type, int(n), []*memory.Buffer{valid}, children, nulls, 0)
	defer data.Release()
	return array.NewStructData(data), nil
}

// present returns a bitmap of the n slots of a struct that are not null, nil if none is null.
func (b *builder) present(f *field, n int64) (valid *memory.Buffer, nulls int, err error) {
	if n == 0 || !f.Nullable {
		return nil, 0, nil
	}
	def, rep, err := b.levelsOf(f)
	if err != nil {
		return nil, 0, err
	}
	valid = b.bitmap(n)
	io := file.ValidityBitmapInputOutput{ReadUpperBound: n, ValidBits: valid.Bytes()}
	if f.repeats() {
		err = file.DefRepLevelsToBitmap(def, rep, f.levels, &io)
	} else {
		file.DefLevelsToBitmap(def, f.levels, &io)
	}
	if err == nil && io.Read != n {
		err = fmt.Errorf("%q has %d values, expected %d", f.Name, io.Read, n)
	}
	if err != nil || io.NullCount == 0 {
		valid.Release()
		return nil, 0, err
	}
	return valid, int(io.NullCount), nil
}

// list returns a list, fixed-size list or map array of n slots.
func (b *builder) list(f *field, n int64) (arrow.Array, error) {
	def, rep, err := b.levelsOf(f)
	if err != nil {
		return nil, err
	}
	offsets := b.buffer(4 * (n + 1))
	defer offsets.Release()
	ends := arrow.Int32Traits.CastFromBytes(offsets.Bytes())
	ends[0] = 0
	io := file.ValidityBitmapInputOutput{ReadUpperBound: n}
	var valid *memory.Buffer
	if f.Nullable && n > 0 {
		valid = b.bitmap(n)
		defer valid.Release()
		io.ValidBits = valid.Bytes()
	}
	if err := file.DefRepLevelsToListInfo(def, rep, f.levels, &io, ends); err != nil {
		return nil, err
	}
	if io.Read != n || ends[0] != 0 {
		return nil, fmt.Errorf("%q has %d lists, expected %d", f.Name, io.Read, n)
	}
	item := f.children[0]
	values, err := b.array(item, int64(ends[n]))
	if err != nil {
		return nil, err
	}
	defer func(a arrow.Array) { a.Release() }(values)
	if values.Len() != int(ends[n]) {
		return nil, fmt.Errorf("%q has %d items, expected %d", f.Name, values.Len(), ends[n])
	}
	buffers := []*memory.Buffer{nil, offsets}
	if io.NullCount > 0 {
		buffers[0] = valid
	}
	if fixed, ok := f.Type.(*arrow.FixedSizeListType); ok {
		buffers = buffers[:1]
		lists := fixedLists{b.mem, values, ends, int64(fixed.Len()), buffers[0]}
		spaced, err := lists.spaced()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		defer spaced.Release()
		values = spaced
	}
	data := array.NewData(f.Type, int(n), buffers, []arrow.ArrayData{values.Data()}, int(io.NullCount), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// only joins the chunks of a column into one array.
func only(chunks []arrow.Array, t arrow.DataType, mem memory.Allocator) (arrow.Array, error) {
	switch len(chunks) {
	case 0:
		return array.MakeArrayOfNull(mem, t, 0), nil
	case 1:
		return chunks[0], nil
	}
	releaseAll(chunks)
	return nil, errors.New("its dictionary changes within a row group")
}
