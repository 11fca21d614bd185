package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// leaf is a column of a row group.
type leaf struct {
	name     string
	typ      arrow.DataType
	physical parquet.Type
	mem      memory.Allocator
	values   file.RecordReader
}

// readLeaf reads a column.
func readLeaf(b *builder, f *field) (*leaf, error) {
	column := b.file.MetaData().Schema.Column(f.leaf)
	pages, err := b.file.RowGroup(b.group).GetColumnPageReader(f.leaf)
	if err != nil {
		return nil, err
	}
	values := file.NewRecordReader(column, f.levels, f.Type, b.mem, b.file.BufferPool())
	values.SetPageReader(pages)
	l := &leaf{name: column.Path(), typ: f.Type, physical: column.PhysicalType(), mem: b.mem, values: values}
	if err := l.read(b.rows, pages); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// read reads all rows.
func (l *leaf) read(rows int64, pages file.PageReader) error {
	if err := l.values.Reserve(rows); err != nil {
		return err
	}
	for left := rows; left > 0; {
		n, err := l.values.ReadRecords(left)
		if err == nil && n == 0 {
			if err = pages.Err(); err == nil {
				err = fmt.Errorf("%d rows can be read, expected %d", rows-left, rows)
			}
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func (l *leaf) release() { l.values.Release() }

// levels returns the definition and repetition levels that were read. The latter are empty if nothing above repeats.
func (l *leaf) levels() (def, rep []int16) {
	n := int(l.values.LevelsPos())
	def, rep = l.values.DefLevels(), l.values.RepLevels()
	return def[:min(n, len(def))], rep[:min(n, len(rep))]
}

// array returns the values. It may be called once.
func (l *leaf) array() (arrow.Array, error) {
	switch l.typ.ID() {
	case arrow.NULL:
		return l.nulls(), nil
	case arrow.BOOL:
		return l.fixed(packBools(l.mem, l.values.Values()[:l.values.ValuesWritten()])), nil
	case arrow.INT8, arrow.UINT8:
		return l.fixed(narrow[uint8](l.mem, l.int32s())), nil
	case arrow.INT16, arrow.UINT16:
		return l.fixed(narrow[uint16](l.mem, l.int32s())), nil
	case arrow.DECIMAL128, arrow.DECIMAL256:
		return l.decimals()
	case arrow.TIMESTAMP:
		if l.physical == parquet.Types.Int96 {
			return l.fixed(nanoseconds(l.mem, parquet.Int96Traits.CastFromBytes(l.values.Values())[:l.values.ValuesWritten()])), nil
		}
	case arrow.DICTIONARY:
		return l.bytes()
	case arrow.BINARY, arrow.STRING, arrow.LARGE_BINARY, arrow.LARGE_STRING, arrow.FIXED_SIZE_BINARY, arrow.FLOAT16:
		a, err := l.bytes()
		if err != nil {
			return nil, err
		}
		defer a.Release()
		return retyped(a, l.typ), nil
	}
	return l.fixed(l.values.ReleaseValues()), nil // stored in the array's layout
}

// nulls returns as many nulls as there are values.
func (l *leaf) nulls() arrow.Array {
	n := l.values.ValuesWritten()
	if r, ok := l.values.(file.BinaryRecordReader); ok { // its ValuesWritten counts only the last page
		chunks := r.GetBuilderChunks()
		defer releaseAll(chunks)
		n = 0
		for _, c := range chunks {
			n += c.Len()
		}
	}
	return array.NewNull(n)
}

func (l *leaf) int32s() []int32 {
	return arrow.Int32Traits.CastFromBytes(l.values.Values())[:l.values.ValuesWritten()]
}

func (l *leaf) int64s() []int64 {
	return arrow.Int64Traits.CastFromBytes(l.values.Values())[:l.values.ValuesWritten()]
}

// fixed returns an array of fixed-width values. It takes ownership of the buffer.
func (l *leaf) fixed(values *memory.Buffer) arrow.Array {
	defer values.Release()
	valid := l.values.ReleaseValidBits()
	if valid != nil {
		defer valid.Release()
	}
	nulls := int(l.values.NullCount())
	if nulls == 0 {
		valid = nil
	}
	data := array.NewData(l.typ, l.values.ValuesWritten(), []*memory.Buffer{valid, values}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// bytes returns the values of a column of bytes; the array has its nulls.
func (l *leaf) bytes() (arrow.Array, error) {
	r, ok := l.values.(file.BinaryRecordReader)
	if !ok {
		return nil, fmt.Errorf("%q: %s does not hold %s", l.name, l.physical, l.typ)
	}
	return only(r.GetBuilderChunks(), l.typ, l.mem)
}

// retyped returns the values of a, which are bytes, as another type with the same layout.
func retyped(a arrow.Array, t arrow.DataType) arrow.Array {
	d := a.Data()
	data := array.NewData(t, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}
