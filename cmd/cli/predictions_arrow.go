package cli

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// recordRows is how many predictions a record batch holds.
const recordRows = 4096

// recordWriter is what Arrow and Parquet files have in common.
type recordWriter interface {
	Write(rec arrow.Record) error
	Close() error
}

// columnar gathers predictions into record batches. A file of its schema reads
// back as an input of the same columns.
type columnar struct {
	out  io.WriteSeeker
	open func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error)
	file recordWriter // nil until the schema is known
	rows []estimator.Prediction
}

func newArrowPredictions(w io.WriteSeeker) predictionWriter {
	return &columnar{out: w, open: func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error) {
		return ipc.NewFileWriter(w, ipc.WithSchema(s))
	}}
}

func newParquetPredictions(w io.WriteSeeker) predictionWriter {
	return &columnar{out: w, open: func(w io.WriteSeeker, s *arrow.Schema) (recordWriter, error) {
		props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))
		return pqarrow.NewFileWriter(s, w, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	}}
}

func (w *columnar) Write(p estimator.Prediction) error {
	w.rows = append(w.rows, p)
	if len(w.rows) < recordRows {
		return nil
	}
	return w.flush()
}

func (w *columnar) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.file == nil { // no prediction, so no columns
		var err error
		if w.file, err = w.open(w.out, arrow.NewSchema(nil, nil)); err != nil {
			return err
		}
	}
	return w.file.Close()
}

// flush writes the gathered rows as one record.
func (w *columnar) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	var columns []inputs.NamedTensor
	for _, name := range w.rows[0].Names() {
		columns = append(columns, inputs.NamedTensor{Name: name, Role: inputs.Feature, Tensor: stack(w.rows, name)})
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

// stack makes one tensor of what the rows predict under a name, row by row.
func stack(rows []estimator.Prediction, name string) *tensor.Tensor {
	first := rows[0].Get(name)
	t := &tensor.Tensor{DType: first.DType, Shape: slices.Concat([]int{len(rows)}, first.Shape)}
	for _, p := range rows {
		t.Bytes = append(t.Bytes, p.Get(name).Bytes...)
		t.Strings = append(t.Strings, p.Get(name).Strings...)
	}
	return t
}
