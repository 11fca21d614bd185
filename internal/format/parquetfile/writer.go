package parquetfile

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// Writer writes a file of Parquet's, compressed with Snappy.
type Writer struct {
	schema *arrow.Schema
	file   *file.Writer
}

// NewWriter begins a file. Close ends it.
func NewWriter(w io.Writer, s *arrow.Schema) (*Writer, error) {
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))
	ps, err := pqarrow.ToParquet(s, props, pqarrow.NewArrowWriterProperties())
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	var text bytes.Buffer
	if err := ipc.NewWriter(&text, ipc.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("parquet: schema: %w", err)
	}
	meta := metadata.KeyValueMetadata{}
	for i, key := range s.Metadata().Keys() {
		if err := meta.Append(key, s.Metadata().Values()[i]); err != nil {
			return nil, fmt.Errorf("parquet: metadata %s: %w", key, err)
		}
	}
	if err := meta.Append("ARROW:schema", base64.StdEncoding.EncodeToString(text.Bytes())); err != nil {
		return nil, fmt.Errorf("parquet: schema: %w", err)
	}
	return &Writer{s, file.NewParquetWriter(w, ps.Root(), file.WithWriterProps(props), file.WithWriteMetadata(meta))}, nil
}

// Write writes a record as a row group. It fails for records of another schema, types that doc.go does not name, and nulls.
func (w *Writer) Write(rec arrow.Record) (err error) {
	if !rec.Schema().Equal(w.schema) {
		return fmt.Errorf("parquet: got a record of %v, expected %v", rec.Schema(), w.schema)
	}
	group := w.file.AppendRowGroup()
	defer func() { err = errors.Join(err, group.Close()) }()
	for i, c := range rec.Columns() {
		out, err := group.NextColumn()
		if err == nil {
			err = errors.Join(writeColumn(out, c), out.Close())
		}
		if err != nil {
			return fmt.Errorf("parquet: column %s: %w", w.schema.Field(i).Name, err)
		}
	}
	return nil
}

// Close ends the file; it closes the writer below if that can be closed.
func (w *Writer) Close() error { return w.file.Close() }
