package eager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// csvOps parse comma-separated values.
var csvOps = map[*ops.Def]maker{
	ops.DecodeCSV:              decodeCSV,
	ops.CSVDataset:             makeDataset(always(csvDataset)),
	ops.CSVDatasetV2:           makeDataset(always(csvDataset)),
	ops.ExperimentalCSVDataset: makeDataset(always(csvDataset)),
}

// csvFormat says how a line is split, and which fields become columns.
type csvFormat struct {
	delim  byte
	quotes bool
	na     string
	choose []int // sorted; nil: all fields
}

// chosen reports whether field i is the next column, after the given number of columns.
func (f *csvFormat) chosen(i, columns int) bool {
	return f.choose == nil || columns < len(f.choose) && f.choose[columns] == i
}

// fields splits a line. It skips line ends before a field.
func (f *csvFormat) fields(line []byte) (out [][]byte, err error) {
	n := 0
	for i := 0; i < len(line); n++ {
		if line[i] == '\n' || line[i] == '\r' {
			i++
			n--
			continue
		}
		var field []byte
		if f.quotes && line[i] == '"' {
			field, i, err = f.quoted(line, i+1)
		} else {
			field, i, err = f.unquoted(line, i)
		}
		if err != nil {
			return nil, err
		}
		if f.chosen(n, len(out)) {
			if out = append(out, field); f.choose != nil && len(out) == len(f.choose) {
				return out, nil
			}
		}
	}
	if len(line) > 0 && line[len(line)-1] == f.delim && f.chosen(n, len(out)) {
		out = append(out, nil)
	}
	return out, nil
}

// unquoted returns the field that begins at i, and where the next one begins.
func (f *csvFormat) unquoted(line []byte, i int) ([]byte, int, error) {
	end := len(line)
	if k := bytes.IndexByte(line[i:], f.delim); k >= 0 {
		end = i + k
	}
	if field := line[i:end]; bytes.ContainsAny(field, "\r\n") || f.quotes && bytes.IndexByte(field, '"') >= 0 {
		return nil, 0, errors.New("Unquoted fields cannot have quotes/CRLFs inside")
	}
	return line[i:end], end + 1, nil
}

// quoted is unquoted for a field with a quote before i. Two quotes stand for one.
func (f *csvFormat) quoted(line []byte, i int) ([]byte, int, error) {
	var field []byte
	for {
		k := bytes.IndexByte(line[min(i, len(line)):], '"')
		if k < 0 {
			return nil, 0, errors.New("Quoted field has to end with quote followed by delim or end")
		}
		field = append(field, line[i:i+k]...)
		i += k + 1
		switch {
		case i == len(line) || line[i] == f.delim:
			return field, i + 1, nil
		case line[i] != '"':
			return nil, 0, errors.New("Quote inside a string has to be escaped by another quote")
		}
		field = append(field, '"')
		i++
	}
}

// set parses a field into element i of its column. A field without a value gets the default, if there is one.
func (f *csvFormat) set(out *tensor.Tensor, i int, field []byte, def *tensor.Tensor) error {
	switch {
	case len(field) == 0 || string(field) == f.na:
		if def.Len() != 1 {
			return errRequired
		}
		copyCells(out, i, def, 0, 1)
		return nil
	case out.DType == tensor.String:
		out.Strings[i] = bytes.Clone(field)
		return nil
	}
	if err := parseNumber(out, i, field); err != nil {
		return fmt.Errorf("is not a valid %v: %s", out.DType, clip(field))
	}
	return nil
}

var errRequired = errors.New("is required but missing")

// csvDefaults returns the defaults of columns: each is empty or one value, of a type that fields may have.
func csvDefaults(values []Value) ([]*tensor.Tensor, error) {
	all := make([]*tensor.Tensor, len(values))
	for k, v := range values {
		if v.T == nil || len(v.T.Shape) > 1 || v.T.Len() > 1 {
			return nil, fmt.Errorf("There should only be 1 default per field but field %d has more", k)
		}
		switch v.T.DType {
		case tensor.String, tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64:
		default:
			return nil, fmt.Errorf("csv: data type %v %w in field %d", v.T.DType, ErrUnsupported, k)
		}
		all[k] = v.T
	}
	return all, nil
}

func decodeCSV(s *site) (kernel, error) {
	types := list[tensor.DType](s, "OUT_TYPE")
	s.outputs = len(types)
	f := csvFormat{quotes: s.boolean("use_quote_delim", true), na: s.str("na_value", "")}
	delim := s.str("field_delim", ",")
	if len(delim) != 1 {
		return nil, errors.New("field_delim should be only 1 char")
	}
	f.delim = delim[0]
	for _, v := range list[int64](s, "select_cols") {
		f.choose = append(f.choose, int(v))
	}
	if err := f.check(len(types)); err != nil {
		return nil, err
	}
	return func(c call) error {
		if len(c.in) != len(types)+1 || c.t(0).DType != tensor.String {
			return fmt.Errorf("expected records and %d defaults", len(types))
		}
		defaults, err := csvDefaults(c.in[1:])
		if err != nil {
			return err
		}
		for k, d := range types {
			if defaults[k].DType != d {
				return fmt.Errorf("record_defaults %d: expected type %v, got %v", k, d, defaults[k].DType)
			}
			if _, err := c.output(k, d, c.t(0).Shape...); err != nil {
				return err
			}
		}
		for i, record := range c.t(0).Strings {
			if err := f.row(c, i, record, defaults); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// check fails if the columns are not in order, or their number does not match the types.
func (f *csvFormat) check(types int) error {
	for i, v := range f.choose {
		if v < 0 || i > 0 && v <= f.choose[i-1] {
			return fmt.Errorf("select_cols should be strictly increasing indices, got %v", f.choose)
		}
	}
	if f.choose != nil && len(f.choose) != types {
		return fmt.Errorf("select_cols should match output size: %d columns for %d types", len(f.choose), types)
	}
	return nil
}

// row parses a record into element i of all outputs.
func (f *csvFormat) row(c call, i int, record []byte, defaults []*tensor.Tensor) error {
	fields, err := f.fields(record)
	if err != nil {
		return err
	}
	if len(fields) != len(defaults) {
		return fmt.Errorf("Expect %d fields but have %d in record %d", len(defaults), len(fields), i)
	}
	for k, field := range fields {
		if err := f.set(c.out[k].T, i, field, defaults[k]); err != nil {
			return fmt.Errorf("Field %d in record %d %w", k, i, err)
		}
	}
	return nil
}

func csvDataset(in *inputs) (dataset.Dataset, error) {
	f := &csvFormat{quotes: in.truth("use_quote_delim"), na: in.text("na_value")}
	delim, paths, compression, header, open := in.text("field_delim"), in.texts("filenames"), in.text("compression_type"), in.truth("header"), in.c.open()
	if len(delim) != 1 {
		in.fail("field_delim should be only 1 char")
		return nil, in.err
	}
	f.delim = delim[0]
	if v := in.ints("select_cols"); len(v) > 0 {
		f.choose = v
	}
	if in.has("exclude_cols") && len(in.ints("exclude_cols")) > 0 {
		return nil, fmt.Errorf("exclude_cols %w: name the columns in select_cols", ErrUnsupported)
	}
	defaults, err := csvDefaults(in.values("record_defaults"))
	if err != nil {
		return nil, err
	}
	if err := f.check(len(defaults)); err != nil {
		return nil, err
	}
	lines := dataset.FromFiles(len(paths), func(i, limit int) (dataset.Records, error) {
		r, err := dataset.RecordFile{Path: paths[i], Compression: compression, Limit: limit}.Rows(open, f.quotes)
		if err == nil && header {
			if _, err = r.Next(); err == io.EOF {
				err = nil
			}
		}
		return r, err
	})
	return dataset.Map(lines, f.parse(defaults), false), nil
}

// parse returns a function that converts a line of a file to an element.
func (f *csvFormat) parse(defaults []*tensor.Tensor) dataset.Func {
	return func(_ context.Context, e dataset.Element) (dataset.Element, error) {
		fields, err := f.fields(e[0].T.Strings[0])
		if err != nil {
			return nil, err
		}
		if len(fields) != len(defaults) {
			return nil, fmt.Errorf("Expect %d fields but have %d in record", len(defaults), len(fields))
		}
		out := make(dataset.Element, len(fields))
		for k, field := range fields {
			out[k].T = tensor.New(defaults[k].DType)
			if err := f.set(out[k].T, 0, field, defaults[k]); err != nil {
				return nil, fmt.Errorf("Field %d %w", k, err)
			}
		}
		return out, nil
	}
}
