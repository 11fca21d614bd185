package tabular

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// openArrow reads Parquet and Arrow files with the readers of training. Single values become texts, null an empty one.
func openArrow(ctx context.Context, files []string, format string) (*rowSource, error) {
	path := files[0]
	columns, err := inputs.FileColumns(format, path)
	if err != nil {
		return nil, err
	}
	s := &rowSource{unreadable: map[string]string{}}
	var specs []inputs.ColumnSpec
	var from []int // index in the file of each column that is read
	for i, c := range columns {
		kind := Number
		switch {
		case c.Err != nil:
			kind, s.unreadable[c.Name] = Unreadable, c.Err.Error()
		case c.Ragged || c.Size() != 1:
			kind = Nested
		case c.DType == tensor.String:
			kind = Text
		}
		s.names, s.kinds = append(s.names, c.Name), append(s.kinds, kind)
		if kind != Nested && kind != Unreadable {
			specs = append(specs, inputs.ColumnSpec{Name: c.Name, DType: tensor.String.String(), Default: ""})
			from = append(from, i)
		}
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("%s has no column of single values that can be read", path)
	}
	for _, c := range inputs.PartitionColumns(files) {
		if slices.Contains(s.names, c.Name) {
			continue // the file's own column takes precedence
		}
		kind := Number
		if c.DType == tensor.String {
			kind = Text
		}
		from = append(from, len(s.names))
		s.names, s.kinds = append(s.names, c.Name), append(s.kinds, kind)
		specs = append(specs, inputs.ColumnSpec{Name: c.Name, DType: tensor.String.String(), Default: ""})
	}
	read := inputs.ArrowFile
	if format == "parquet" {
		read = inputs.Parquet
	}
	ds, err := read(files, inputs.ArrowOptions{Columns: specs, Partitions: files})
	if err != nil {
		return nil, err
	}
	return s, s.records(ctx, inputs.Batch(arrowRows, false)(ds), arrowBatch{to: from})
}

// openDataset reads the rows of a dataset whose records have several rows each.
func openDataset(ctx context.Context, ds inputs.Dataset) (*rowSource, error) {
	s := &rowSource{}
	var from []int
	for i, c := range ds.Schema().Columns() {
		kind := Number
		switch {
		case c.Ragged || c.Size() != 1:
			kind = Nested
		case c.DType == tensor.String:
			kind = Text
		}
		s.names, s.kinds = append(s.names, c.Name), append(s.kinds, kind)
		if kind != Nested {
			from = append(from, i)
		}
	}
	return s, s.records(ctx, ds, arrowBatch{to: from, from: from})
}

// records makes s read the rows of a dataset.
func (s *rowSource) records(ctx context.Context, ds inputs.Dataset, b arrowBatch) error {
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	s.close = it.Close
	b.row = make([]string, len(s.names))
	s.next = func() ([]string, error) {
		for b.at == b.rows {
			rec, err := it.Next(ctx)
			if err != nil {
				return nil, err
			}
			b.fill(rec)
			rec.Release()
		}
		return b.next(), nil
	}
	return nil
}

// arrowRows is the number of rows in a batch.
const arrowRows = 4096

// arrowBatch iterates over the rows of one record.
type arrowBatch struct {
	to       []int // positions of the columns that are read, in a row
	from     []int // and in a record; nil: the record has only these columns
	row      []string
	columns  [][]string
	at, rows int
}

func (b *arrowBatch) fill(rec arrow.Record) {
	b.at, b.rows = 0, int(rec.NumRows())
	b.columns = b.columns[:0]
	for i := range b.to {
		column, at := make([]string, b.rows), i
		if b.from != nil {
			at = b.from[i]
		}
		a := rec.Column(at)
		if list, ok := a.(*array.FixedSizeList); ok { // of one element
			first := int64(list.Data().Offset())
			a = array.NewSlice(list.ListValues(), first, first+int64(b.rows))
			defer a.Release()
		}
		for r := range column {
			if !a.IsNull(r) {
				column[r] = arrowText(a, r)
			}
		}
		b.columns = append(b.columns, column)
	}
}

func (b *arrowBatch) next() []string {
	for i, to := range b.to {
		b.row[to] = b.columns[i][b.at]
	}
	b.at++
	return b.row
}

// arrowText is a value of an array as text. It is a copy, since the array is released.
func arrowText(a arrow.Array, row int) string {
	switch a := a.(type) {
	case *array.String:
		return strings.Clone(a.Value(row))
	case *array.Binary:
		return string(a.Value(row))
	}
	return a.ValueStr(row)
}
