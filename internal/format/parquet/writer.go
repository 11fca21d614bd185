package parquet

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// Writer writes record batches without nulls, with the types of tensors and lists of these, each as a row group. The file keeps the schema, so
// that it reads back unchanged.
type Writer struct {
	out    *sink
	file   *file.Writer
	schema *arrow.Schema
}

// NewWriter begins a file. Close ends it.
func NewWriter(w io.Writer, s *arrow.Schema, props *parquet.WriterProperties) (*Writer, error) {
	root, err := nodesOf(s, props)
	if err != nil {
		return nil, err
	}
	stored, err := serialized(s)
	if err != nil {
		return nil, err
	}
	meta := metadata.NewKeyValueMetadata()
	for i, k := range s.Metadata().Keys() {
		if err := meta.Append(k, s.Metadata().Values()[i]); err != nil {
			return nil, err
		}
	}
	if err := meta.Append(storedKey, stored); err != nil {
		return nil, err
	}
	out := &sink{to: w}
	f := file.NewParquetWriter(out, root, file.WithWriterProps(props), file.WithWriteMetadata(meta))
	return &Writer{out, f, s}, out.err
}

// sink records the first error of a writer. Arrow's library panics if it cannot begin a file, and loses other errors.
type sink struct {
	to  io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.to.Write(b)
	}
	return len(b), nil
}

// serialized returns a schema in the form that StoredSchema reads.
func serialized(s *arrow.Schema) (string, error) {
	var out bytes.Buffer
	if err := ipc.NewWriter(&out, ipc.WithSchema(s)).Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// Write writes a row group.
func (w *Writer) Write(rec arrow.Record) error {
	if !rec.Schema().Equal(w.schema) {
		return fmt.Errorf("record has the columns %s, expected %s", rec.Schema(), w.schema)
	}
	group := w.file.AppendRowGroup()
	for i, f := range rec.Schema().Fields() {
		column, err := group.NextColumn()
		if err == nil {
			err = writeColumn(column, f, rec.Column(i))
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return cmp.Or(group.Close(), w.out.err)
}

// Close ends the file.
func (w *Writer) Close() error { return cmp.Or(w.file.Close(), w.out.err) }

// writeColumn writes a field of values or of lists of values.
func writeColumn(w file.ColumnChunkWriter, f arrow.Field, a arrow.Array) error {
	if a.NullN() > 0 {
		return errors.New("it has nulls, which are not written")
	}
	present := int16(0) // the definition level of a value
	if f.Nullable {
		present = 1
	}
	list, ok := a.(array.ListLike)
	if !ok {
		return writeValues(w, a, levels(a.Len(), present), nil)
	}
	def, rep := listLevels(list, present)
	values := itemsOf(list)
	defer values.Release()
	if values.NullN() > 0 {
		return errors.New("its lists have nulls, which are not written")
	}
	return writeValues(w, values, def, rep)
}

// levels returns n levels, nil if they are 0.
func levels(n int, level int16) []int16 {
	if level == 0 {
		return nil
	}
	out := make([]int16, n)
	for i := range out {
		out[i] = level
	}
	return out
}

// listLevels returns the levels of lists of optional items: a present list has the level present, an item 2 more.
func listLevels(list array.ListLike, present int16) (def, rep []int16) {
	for i := range list.Len() {
		start, end := list.ValueOffsets(i)
		if start == end {
			def, rep = append(def, present), append(rep, 0)
		}
		for j := start; j < end; j++ {
			def = append(def, present+2)
			if j == start {
				rep = append(rep, 0)
			} else {
				rep = append(rep, 1)
			}
		}
	}
	return def, rep
}

// itemsOf returns the items of all lists.
func itemsOf(list array.ListLike) arrow.Array {
	if list.Len() == 0 {
		return array.NewSlice(list.ListValues(), 0, 0)
	}
	start, _ := list.ValueOffsets(0)
	_, end := list.ValueOffsets(list.Len() - 1)
	return array.NewSlice(list.ListValues(), start, end)
}
