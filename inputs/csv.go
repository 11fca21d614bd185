package inputs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// CSVOptions describes CSV files. Cells may be quoted, space around them is
// dropped, and empty lines are skipped. A column with a shape reads as many consecutive
// cells as one value has elements.
type CSVOptions struct {
	// Columns in the order of the file; with a header they are found by name, in any
	// order.
	Columns []ColumnSpec
	Header  bool // the first row of every file holds names
	// Delimiter is the character between two cells, tab, or whitespace: any number of spaces and
	// tabs. "" means a comma.
	Delimiter string
	// MissingValues are cells that mean a missing value, besides the empty one.
	MissingValues []string
	// Comment starts lines that are skipped; "": none.
	Comment string
	// Decimal is the mark before the fraction of a float32 or float64 number: "." or ","; "": a point. With a
	// comma, points group digits.
	Decimal string
	// Unlabeled leaves out the label columns, which then need not be in the files.
	Unlabeled bool
	// Damaged leaves out and counts rows that cannot be read; nil: the first one is an error.
	Damaged   *Damaged
	Allocator memory.Allocator
}

// CSV returns the rows of CSV files. Errors are *DataError with file, line and column.
func CSV(files []string, o CSVOptions) (Dataset, error) {
	return openCSV(context.Background(), files, o)
}

func openCSV(ctx context.Context, files []string, o CSVOptions) (Dataset, error) {
	f, err := newCSVFormat(o)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errNoFiles
	}
	src := fileSource{files: files, damaged: o.Damaged, open: f.openBlocks, seen: newSeen(ctx)}
	first, err := src.reader(ctx, files[0]) // report a wrong name or header here
	if err != nil {
		return nil, err
	}
	if err := first.close(); err != nil {
		return nil, err
	}
	o.Allocator, o.Damaged = nil, nil // they do not change rows, or are described elsewhere
	return src.node(&node{schema: f.schema, mem: f.mem, origin: origin{options: fmt.Sprintf("%+v", o)}}, "csv"), nil
}

// csvFormat is the compiled form of CSVOptions.
type csvFormat struct {
	schema  *Schema
	mem     memory.Allocator
	specs   []ColumnSpec // all columns of the file, ignored ones too
	fields  []textField  // the columns that are read
	cells   int          // in a row; with a header: not known
	labels  int          // cells of label columns
	opts    CSVOptions
	comma   rune // 0: whitespace
	comment rune
	missing []string
	longest int // most bytes of a row
}

func newCSVFormat(o CSVOptions) (*csvFormat, error) {
	f := &csvFormat{mem: alloc(o.Allocator), specs: o.Columns, opts: o, comma: ',', missing: o.MissingValues, longest: maxLine}
	var err error
	if o.Delimiter == whitespace {
		f.comma = 0
	} else if f.comma, err = oneRune("delimiter", o.Delimiter, ','); err != nil {
		return nil, err
	}
	if f.comment, err = oneRune("comment", o.Comment, 0); err != nil {
		return nil, err
	}
	if f.comma == '"' || f.comma == '\n' || f.comma == '\r' || f.comma != 0 && f.comma == f.comment || f.comment == '"' {
		return nil, fmt.Errorf("csv delimiter %q and comment %q cannot be used: choose other characters", f.comma, f.comment)
	}
	if o.Decimal != "" && o.Decimal != "." && o.Decimal != "," {
		return nil, fmt.Errorf("csv decimal must be a point or a comma, got %q", o.Decimal)
	}
	if o.Decimal == "," && f.comma == ',' {
		return nil, fmt.Errorf("csv decimal and delimiter are both a comma: set another delimiter")
	}
	if len(o.Columns) == 0 {
		return nil, fmt.Errorf("csv needs the list of columns: give name, dtype and role of each")
	}
	var columns []Column
	for _, s := range o.Columns {
		size := max(tensor.NumElements(s.Shape), 1)
		at := f.cells
		f.cells += size
		if s.Role == Label {
			f.labels += size
		}
		if s.Role == Ignore || s.Role == Label && o.Unlabeled {
			continue
		}
		if s.Ragged {
			return nil, fmt.Errorf("column %q: csv has no lists: leave ragged out, give a shape, or take another format", s.Name)
		}
		field, c, err := newTextField(s)
		if err != nil {
			return nil, err
		}
		if o.Decimal == "," && (c.DType == tensor.Float32 || c.DType == tensor.Float64) && len(s.Vocabulary) == 0 {
			field.write = withDecimalComma(field.write)
		}
		field.first = at
		f.fields, columns = append(f.fields, field), append(columns, c)
	}
	f.schema, err = NewSchema(columns...)
	return f, err
}

// grouped matches numbers whose points separate groups of three digits.
var grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,.*)?$`)

// withDecimalComma wraps the writer of a column to read numbers such as 1.234,5.
func withDecimalComma(write cellWriter) cellWriter {
	return func(b array.Builder, cell string) error {
		cell, err := withoutDecimalComma(cell)
		if err != nil {
			return err
		}
		return write(b, cell)
	}
}

// withoutDecimalComma returns such a number with a decimal point.
func withoutDecimalComma(cell string) (string, error) {
	if strings.Contains(cell, ".") {
		if !grouped.MatchString(cell) {
			return "", fmt.Errorf("value %s: with a decimal comma, points group three digits: correct the cell, or set decimal", shown(cell))
		}
		cell = strings.ReplaceAll(cell, ".", "")
	}
	return strings.Replace(cell, ",", ".", 1), nil
}

func oneRune(what, s string, fallback rune) (rune, error) {
	if s == "" {
		return fallback, nil
	}
	if s == `\t` || s == "tab" {
		return '\t', nil
	}
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) || r == utf8.RuneError {
		return 0, fmt.Errorf("csv %s must be one character, got %q", what, s)
	}
	return r, nil
}

func (f *csvFormat) open(ctx context.Context, name string) (*csvReader, error) {
	file, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := f.reader(ctx, name, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.file = file
	return r, nil
}

// reader returns a reader of rows, after the header if there is one.
func (f *csvFormat) reader(ctx context.Context, name string, in io.Reader) (*csvReader, error) {
	text := unmarked(in)
	head := headOf(name, text)
	if err := checkText(name, "CSV in UTF-8", head); err != nil {
		return nil, err
	}
	r := &csvReader{ctx: ctx, format: f, name: name, first: ofStream(name, head), limit: rowLimit{in: text}, at: make([]int, len(f.fields))}
	if o := f.opts; o.Damaged != nil && f.comma != 0 {
		r.again = &rereader{in: text}
		r.limit.in = r.again
	}
	r.csv = f.rowsOf(&r.limit)
	for i, field := range f.fields {
		r.at[i] = field.first
	}
	r.cells = f.cells
	if !f.opts.Header {
		return r, nil
	}
	return r, r.header()
}

// rowsOf returns the rows of a text.
func (f *csvFormat) rowsOf(in io.Reader) cellRows {
	if f.comma == 0 {
		return NewAlignedRows(in, f.comment)
	}
	cr := csv.NewReader(in)
	cr.Comma, cr.Comment = f.comma, f.comment
	cr.FieldsPerRecord, cr.ReuseRecord, cr.TrimLeadingSpace = -1, true, f.comma != '\t'
	return cr
}

// header finds the columns by name.
func (r *csvReader) header() error {
	names, err := r.cellsOfRow()
	if eof(err) {
		return fileError(r.name, "%w: it has no header line", ErrEmpty)
	}
	if err != nil {
		return err
	}
	names = slices.Clone(names)
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	r.cells = len(names)
	line, _ := r.csv.FieldPos(0)
	for i, f := range r.format.fields {
		at := slices.Index(names, f.spec.Name)
		if at < 0 {
			return r.explainHeader(names, &DataError{File: r.name, Line: line, Name: f.spec.Name, Err: unknownName(f.spec.Name, names)})
		}
		if at+f.size > len(names) {
			return &DataError{File: r.name, Line: line, Name: f.spec.Name,
				Err: fmt.Errorf("shape %v needs %d cells from cell %d on, the header has %d", f.spec.Shape, f.size, at+1, len(names))}
		}
		if slices.Contains(names[at+f.size:], f.spec.Name) {
			return &DataError{File: r.name, Line: line, Name: f.spec.Name,
				Err: errors.New("the header has this name twice: rename one of the columns in the file")}
		}
		r.at[i] = at
	}
	return nil
}

// unknownName is the error of a column that the header does not have.
func unknownName(name string, names []string) error {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return fmt.Errorf("unknown column: the header has %q: names tell capitals from small letters", n)
		}
	}
	return errors.New("unknown column: the header has " + strings.Join(names, ", "))
}

// element returns the Arrow type of one element of a column.
func (c Column) element() (arrow.DataType, error) {
	c.Shape, c.Ragged = nil, false
	f, err := c.field()
	return f.Type, err
}

func (r *csvReader) skip(ctx context.Context, n int64) error {
	if r.format.opts.Damaged != nil {
		return readPast(ctx, r, n)
	}
	return r.passOver(ctx, n)
}

// passOver skips n rows, none of which is damaged.
func (r *csvReader) passOver(ctx context.Context, n int64) error {
	for i := range n {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := r.next(); err != nil {
			return err
		}
		r.rows++
	}
	return nil
}
