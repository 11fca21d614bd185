package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"

	"github.com/goestimator/goestimator/inputs"
	columns "github.com/goestimator/goestimator/internal/format/parquet"
	"github.com/goestimator/goestimator/tensor"
)

// recordRows is the number of predictions in a record batch.
const recordRows = 4096

// recordWriter is the common interface of Arrow and Parquet writers.
type recordWriter interface {
	Write(rec arrow.Record) error
	Close() error
}

// columnar collects rows into record batches. Its files can be read back
// as an input with the same columns.
type columnar struct {
	out  io.WriteSeeker
	open func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error)
	file recordWriter // nil until the schema is known
	rows [][]namedValue
}

func newArrowPredictions(w io.WriteSeeker) predictionWriter {
	return &columnar{out: w, open: func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error) {
		return ipc.NewFileWriter(w, ipc.WithSchema(s))
	}}
}

func newParquetPredictions(w io.WriteSeeker) predictionWriter {
	return &columnar{out: w, open: func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error) {
		props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))
		return columns.NewWriter(w, s, props)
	}}
}

func (w *columnar) Write(row []namedValue) error {
	w.rows = append(w.rows, row)
	if len(w.rows) < recordRows {
		return nil
	}
	return w.flush()
}

func (w *columnar) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.file == nil { // without predictions there are no columns
		var err error
		if w.file, err = w.open(w.out, arrow.NewSchema(nil, nil)); err != nil {
			return err
		}
	}
	return w.file.Close()
}

// flush writes the collected rows as one record.
func (w *columnar) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	var columns []inputs.NamedTensor
	for i, v := range w.rows[0] {
		all, err := stack(w.rows, i)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		columns = append(columns, inputs.NamedTensor{Name: v.name, Role: inputs.Feature, Tensor: all})
	}
	ds, err := inputs.Slices(nil, columns...)
	if err != nil {
		return err
	}
	index := make([]int64, len(w.rows))
	for i := range index {
		index[i] = int64(i)
	}
	rec, err := ds.Gather(context.Background(), index)
	if err != nil {
		return err
	}
	defer rec.Release()
	if w.file == nil {
		if w.file, err = w.open(w.out, rec.Schema()); err != nil {
			return err
		}
	}
	w.rows = w.rows[:0]
	return w.file.Write(rec)
}

// stack stacks the i-th values of the rows into one tensor.
func stack(rows [][]namedValue, i int) (*tensor.Tensor, error) {
	first := rows[0][i].value
	t := &tensor.Tensor{DType: first.DType, Shape: slices.Concat([]int{len(rows)}, first.Shape)}
	for _, row := range rows {
		v := row[i].value
		if !slices.Equal(v.Shape, first.Shape) {
			return nil, errShapes(first.Shape, v.Shape)
		}
		t.Bytes = append(t.Bytes, v.Bytes...)
		t.Strings = append(t.Strings, v.Strings...)
	}
	return t, nil
}

// errShapes is the error of columnar formats for rows with different shapes.
func errShapes(first, other []int) error {
	return fmt.Errorf("rows of shapes %v and %v: expected the same in all, or lines of JSON (--output FILE.jsonl)", first, other)
}
