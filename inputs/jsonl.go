package inputs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// JSONL returns the rows of files with one JSON object on each line, gzip or not. Names are
// column names; null and absent values are missing. A list, nested or not, fills a column's shape, or has the
// values of a ragged column. Other names are ignored.
func JSONL(files []string, o ArrowOptions) (Dataset, error) {
	return openJSONL(context.Background(), files, o)
}

func openJSONL(ctx context.Context, files []string, o ArrowOptions) (Dataset, error) {
	f, err := newJSONFormat(o)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(ctx, files); err != nil {
		return nil, err
	}
	src := fileSource{files: files, damaged: o.Damaged, seen: newSeen(ctx), open: func(ctx context.Context, name string) (rowReader, error) {
		in, err := openFile(ctx, name)
		if err != nil {
			return nil, err
		}
		r, err := f.reader(ctx, name, in, in)
		if err != nil {
			in.Close()
			return nil, err
		}
		return r, nil
	}}
	return src.node(&node{schema: f.schema, mem: f.mem, origin: o.origin()}, "jsonl"), nil
}

// maxLine is the longest line of a JSONL file in bytes.
const maxLine = 64 << 20

type jsonFormat struct {
	schema  *Schema
	mem     memory.Allocator
	fields  []textField
	damaged *Damaged
}

func newJSONFormat(o ArrowOptions) (*jsonFormat, error) {
	fields, schema, err := declared("jsonl", o)
	return &jsonFormat{schema: schema, mem: alloc(o.Allocator), fields: fields, damaged: o.Damaged}, err
}

func (f *jsonFormat) reader(ctx context.Context, name string, in io.Reader, closer io.Closer) (*jsonReader, error) {
	text := unmarked(in)
	head := headOf(name, text)
	if err := checkText(name, "JSON lines in UTF-8", head); err != nil {
		return nil, err
	}
	sc := bufio.NewScanner(text)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	return &jsonReader{format: f, ctx: ctx, name: name, first: ofStream(name, head), lines: sc, closer: closer}, nil
}

// jsonReader reads the rows of one file.
type jsonReader struct {
	format *jsonFormat
	ctx    context.Context // of the pass
	name   string
	first  []byte // first bytes of a stream, which cannot be opened again
	lines  *bufio.Scanner
	closer io.Closer // nil in tests
	line   int
	err    error // found after good rows, or io.EOF
}

// next moves to the next line that is not empty.
func (r *jsonReader) next() ([]byte, error) {
	for r.lines.Scan() {
		r.line++
		if line := bytes.TrimSpace(r.lines.Bytes()); len(line) > 0 {
			return line, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return nil, r.broken(r.line + 1)
	}
	return nil, io.EOF
}

// broken returns the error of a read that failed within a line.
func (r *jsonReader) broken(line int) error {
	return &DataError{File: r.name, Line: line, Err: fmt.Errorf("line cannot be read: %w", r.lines.Err())}
}

func (r *jsonReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	b := array.NewRecordBuilder(r.format.mem, r.format.schema.Arrow())
	defer b.Release()
	if r.err != nil {
		return nil, r.err
	}
	reading := rowReading{mem: r.format.mem, damaged: r.format.damaged}
	rec, err := reading.rows(ctx, b, limit, func() error { return r.row(b) })
	r.err = err
	return orEnded(ctx, rec, err)
}

func (r *jsonReader) row(b *array.RecordBuilder) error {
	line, err := r.next()
	if err != nil {
		return err
	}
	obj, err := jsonObject(line)
	if err != nil && r.lines.Err() != nil {
		return r.broken(r.line) // the line is incomplete
	}
	if err != nil {
		if r.format.damaged == nil && !json.Valid(line) {
			if other := r.mistaken(); other != nil {
				return other
			}
		}
		return r.damage("", err)
	}
	for i, f := range r.format.fields {
		if err := f.json(b.Field(i), obj[f.spec.Name]); err != nil {
			return r.damage(f.spec.Name, err)
		}
	}
	return nil
}

// mistaken returns an error if the text is of another known kind, else nil.
func (r *jsonReader) mistaken() error {
	if r.first != nil {
		return mistaken(r.name, "jsonl", "JSON lines", r.first)
	}
	return mistakenFile(r.ctx, r.name, "jsonl", "JSON lines")
}

func (r *jsonReader) damage(column string, err error) error {
	return &damagedRow{r.name, int64(r.line), &DataError{File: r.name, Line: r.line, Name: column, Err: err}}
}

// jsonObject parses a line that holds a single JSON object.
func jsonObject(line []byte) (map[string]any, error) {
	var obj map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&obj); err != nil {
		return nil, badJSON(line, err)
	}
	if obj == nil {
		return nil, fmt.Errorf("line is not a JSON object: it is null")
	}
	if rest := bytes.TrimSpace(line[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("line goes on behind its JSON object: write one object on each line")
	}
	return obj, nil
}

// badJSON returns the error of a line that is not a JSON object.
func badJSON(line []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		if kind.Value == "array" {
			return errors.New("line is not a JSON object but an array: write each object on one line, for example with jq -c '.[]'")
		}
		return fmt.Errorf("line is not a JSON object: it is of type %s", kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line ends within its JSON object: write each object on one line, for example with jq -c .: %w", err)
	case errors.As(err, &syntax) && notANumber(line, int(syntax.Offset)-1):
		return fmt.Errorf("line is not a JSON object: NaN and Infinity are no JSON: write null, and give the column a default: %w", err)
	}
	return fmt.Errorf("line is not a JSON object: %w", err)
}

// notANumber reports whether position at of a line has a number that JSON does not allow,
// such as NaN.
func notANumber(line []byte, at int) bool {
	for _, word := range []string{"NaN", "Infinity", "nan", "inf"} {
		for back := range 2 { // the parser fails after the sign of -Infinity
			if from := at - back; from >= 0 && from < len(line) && bytes.HasPrefix(line[from:], []byte(word)) {
				return true
			}
		}
	}
	return false
}

// json writes the value of one column.
func (f textField) json(b array.Builder, v any) error {
	if f.spec.Ragged {
		return f.jsonList(b.(*array.ListBuilder), v)
	}
	cells := flatten(nil, v)
	if v == nil {
		cells = make([]any, f.size)
	}
	if len(cells) != f.size {
		return fmt.Errorf("value has %d elements, expected %d (shape %v)", len(cells), f.size, f.spec.Shape)
	}
	if list, ok := b.(*array.FixedSizeListBuilder); ok {
		list.Append(true)
		b = list.ValueBuilder()
	}
	for _, c := range cells {
		if err := f.jsonCell(b, c); err != nil {
			return err
		}
	}
	return nil
}

// jsonList writes the value of a ragged column.
func (f textField) jsonList(b *array.ListBuilder, v any) error {
	list, ok := v.([]any)
	switch {
	case v == nil && f.spec.Role == Label:
		return errMissingList
	case v != nil && !ok:
		return fmt.Errorf("value is not a list: write it in brackets, or leave ragged out")
	}
	b.Append(true)
	for _, c := range list {
		if _, nested := c.([]any); nested {
			return fmt.Errorf("value holds a list within the list, expected numbers or strings: a ragged column has one dimension of any length")
		}
		if c == nil {
			return fmt.Errorf("value holds null: leave it out of the list")
		}
		if err := f.jsonCell(b.ValueBuilder(), c); err != nil {
			return err
		}
	}
	return nil
}

// jsonCell writes one element.
func (f textField) jsonCell(b array.Builder, v any) error {
	switch x := v.(type) {
	case nil:
		if f.fallback == nil {
			return errMissing
		}
		return f.write(b, *f.fallback)
	case string:
		return f.write(b, x)
	case json.Number:
		if len(f.spec.Vocabulary) > 0 {
			return f.write(b, f.spec.wholeText(x.String()))
		}
		err := f.write(b, x.String())
		if n, ok := whole(x); ok && err != nil {
			return f.write(b, n)
		}
		return err
	case bool:
		return f.write(b, fmt.Sprint(x))
	}
	return fmt.Errorf("value is an object, expected a number, a string, true or false")
}

// whole returns an integer without the point or exponent that pandas may write: 8.0, if another row has no number.
func whole(n json.Number) (string, bool) {
	v, err := n.Float64()
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return "", false
	}
	return strconv.FormatInt(int64(v), 10), true
}

// wholeText returns the text of a number as integers are written: 8 for 8.0, 1234567 for 1.234567e+06. Other numbers, and words of the
// vocabulary, stay as they are.
func (s ColumnSpec) wholeText(text string) string {
	n, ok := whole(json.Number(text))
	if !ok || n == text || slices.Contains(s.Vocabulary, text) {
		return text
	}
	return n
}

// flatten appends the elements of a value, including nested lists.
func flatten(out []any, v any) []any {
	list, ok := v.([]any)
	if !ok {
		return append(out, v)
	}
	for _, e := range list {
		out = flatten(out, e)
	}
	return out
}

func (r *jsonReader) skip(ctx context.Context, n int64) error {
	if r.format.damaged != nil {
		return readPast(ctx, r, n)
	}
	for i := range n {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

func (r *jsonReader) close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
