package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// passedColumns are columns of the input that are written beside the predictions. Batches deposit their values here on the way to the
// model, and predictions, which arrive in the same order, pick them up.
type passedColumns struct {
	names []string
	extra []string            // names of columns that the model does not get
	words map[string][]string // vocabularies of columns that are read as numbers
	hint  string              // appended to the error for an unknown column

	mu      sync.Mutex
	batches [][]inputs.NamedTensor
	row     int // index of the next row in the first batch
}

// passColumns makes the input read the columns with these names. Ignored columns, and labels with a vocabulary, are read as texts.
func passColumns(in *inputs.Spec, names []string) (*passedColumns, error) {
	p := &passedColumns{names: names, words: map[string][]string{}}
	in.Columns = slices.Clone(in.Columns)
	listed := len(in.Columns) > 0 // then there are no other columns
	if namesFiles(*in, "file") {
		listed = false
		p.hint = ", and file, the name of each file"
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("predict.columns: %s is there twice", name)
		}
		at := slices.IndexFunc(in.Columns, func(c inputs.ColumnSpec) bool { return c.Name == name })
		if at < 0 && (listed || namesFiles(*in, name)) {
			if !namesColumns(*in) && !namesFiles(*in, name) {
				return nil, fmt.Errorf("predict.columns: no column %s among the input's: expected one of %s; one that the model does not read has role: ignore", name, columnNames(in.Columns))
			}
			at = len(in.Columns)
			in.Columns = append(in.Columns, inputs.ColumnSpec{Name: name, Role: inputs.Ignore})
		}
		if at >= 0 {
			p.read(&in.Columns[at], in.Format)
		}
	}
	return p, nil
}

// namesColumns reports whether the files of an input name their columns, so that unlisted ones can be found.
func namesColumns(in inputs.Spec) bool {
	switch in.Format {
	case "parquet", "arrow":
		return true
	}
	return in.Format == "csv" && in.Header
}

// namesFiles reports whether a column contains file names: folders of images and sounds have it if it is listed.
func namesFiles(in inputs.Spec, name string) bool {
	return name == "file" && (in.Format == "images" || in.Format == "audio")
}

// read makes the input read a column.
func (p *passedColumns) read(c *inputs.ColumnSpec, format string) {
	switch {
	case c.Role == inputs.Ignore:
		*c = c.Kept(format)
	case c.Role == inputs.Label: // predictions need no label
		if c.Role = inputs.Feature; len(c.Vocabulary) > 0 {
			c.Vocabulary, c.Kind, c.DType = nil, "", "string"
		}
	default:
		p.words[c.Name] = c.Vocabulary
		return
	}
	p.extra = append(p.extra, c.Name)
	if c.DType == "string" && c.Default == nil && !c.Ragged {
		c.Default = "" // a missing text must not prevent a prediction
	}
}

func columnNames(list []inputs.ColumnSpec) string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// input is an input_fn whose batches deposit their columns in p.
func (p *passedColumns) input(fn estimator.InputFn) estimator.InputFn {
	if len(p.names) == 0 {
		return fn
	}
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := fn.Input(ctx, ic)
		if err != nil {
			return nil, err
		}
		d := passingDataset{Dataset: ds, columns: p}
		for _, name := range p.names {
			if _, err := ds.Schema().Column(name); err != nil {
				return nil, fmt.Errorf("predict.columns: %w%s", err, p.hint)
			}
		}
		var rest []string
		for _, c := range ds.Schema().Columns() {
			if !slices.Contains(p.extra, c.Name) {
				rest = append(rest, c.Name)
			}
		}
		d.rest, d.passed = inputs.Project(rest...)(ds), inputs.Project(p.names...)(ds)
		return d, nil
	})
}

// passingDataset is a data set whose batches deposit some columns.
type passingDataset struct {
	inputs.Dataset
	rest    inputs.Dataset // columns that the model gets
	passed  inputs.Dataset // columns to write
	columns *passedColumns
}

// Schema is the schema of the model's columns.
func (d passingDataset) Schema() *inputs.Schema { return d.rest.Schema() }

// Iterate starts a pass, and forgets the values of earlier passes.
func (d passingDataset) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	d.columns.forget()
	return passingIterator{Iterator: it, set: d}, nil
}

type passingIterator struct {
	inputs.Iterator
	set passingDataset
}

// Next returns the next batch without the columns that the model does not get.
func (it passingIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	passed := it.set.part(rec, it.set.passed.Schema())
	defer passed.Release()
	if err := it.set.columns.leave(passed, it.set.passed.Schema()); err != nil {
		return nil, err
	}
	return it.set.part(rec, it.set.Schema()), nil
}

// part selects the columns of a schema.
func (d passingDataset) part(rec arrow.Record, s *inputs.Schema) arrow.Record {
	var columns []arrow.Array
	for _, c := range s.Columns() {
		columns = append(columns, rec.Column(d.Dataset.Schema().Index(c.Name)))
	}
	return array.NewRecord(s.Arrow(), columns, rec.NumRows())
}

func (p *passedColumns) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches, p.row = nil, 0
}

// leave deposits the columns of a batch.
func (p *passedColumns) leave(rec arrow.Record, s *inputs.Schema) error {
	all, err := inputs.Tensors(rec, s)
	if err != nil {
		return err
	}
	batch := make([]inputs.NamedTensor, len(p.names))
	for i, name := range p.names {
		c := all[s.Index(name)]
		c.Tensor, c.Offsets = c.Tensor.Clone(), slices.Clone(c.Offsets) // the record will be released
		if words := p.words[name]; len(words) > 0 && c.Tensor.DType == tensor.Int64 {
			c.Tensor = named(c.Tensor, words)
		}
		batch[i] = c
	}
	if rec.NumRows() == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches = append(p.batches, batch)
	return nil
}

// named maps ids to the words of a vocabulary; ids outside the vocabulary give empty texts.
func named(ids *tensor.Tensor, words []string) *tensor.Tensor {
	out := &tensor.Tensor{DType: tensor.String, Shape: ids.Shape}
	for _, id := range tensor.Values[int64](ids) {
		w := ""
		if id >= 0 && id < int64(len(words)) {
			w = words[id]
		}
		out.Strings = append(out.Strings, []byte(w))
	}
	return out
}

// errNoPassedRow is a bug in this program.
var errNoPassedRow = errors.New("more predictions than rows of the input")

// take returns the columns of the next row.
func (p *passedColumns) take() ([]namedValue, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) == 0 {
		return nil, nil
	}
	if len(p.batches) == 0 {
		return nil, errNoPassedRow
	}
	r := row{i: p.row, columns: p.batches[0]}
	var out []namedValue
	for _, c := range r.columns {
		out = append(out, namedValue{c.Name, c.Row(r.i)})
	}
	if p.row++; p.row == rowsOf(r.columns[0]) {
		p.batches, p.row = p.batches[1:], 0
	}
	return out, nil
}

// rowsOf is the number of rows of a column.
func rowsOf(c inputs.NamedTensor) int {
	if c.Offsets != nil {
		return len(c.Offsets) - 1
	}
	return c.Tensor.Shape[0]
}
