package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Row maps the column names of one example to its values: numbers, strings,
// bools, []byte, and slices of these for columns with a shape and ragged columns. A value
// that is nil or absent is missing.
type Row map[string]any

// Generator returns the rows that a function yields, like tf.data's from_generator: rows of a database, a
// channel, a simulation. Each pass calls the function once, with a context that ends with the pass. An
// error that the function yields ends the pass. Columns that o does not list are ignored.
//
// Restoring a position skips the rows delivered before; a cancelled pass cannot continue. A
// training job resumes exactly only if the function yields the same rows in each pass.
func Generator(rows func(ctx context.Context) iter.Seq2[Row, error], o ArrowOptions) (Dataset, error) {
	fields, schema, err := declared("a generator", o)
	if err != nil {
		return nil, err
	}
	n := &node{schema: schema, mem: alloc(o.Allocator)}
	source := func(ctx context.Context) fileSource {
		return fileSource{files: []string{"generator"}, seen: new(seenObjects), open: func(context.Context, string) (rowReader, error) {
			ctx, cancel := context.WithCancel(ctx)
			next, stop := iter.Pull2(rows(ctx))
			return &generatorReader{ctx: ctx, node: n, fields: fields, next: next, cancel: cancel, stop: stop}, nil
		}}
	}
	n = source(context.Background()).node(n, "generator")
	n.files, n.origin = nil, origin{} // a generator reads no files
	n.generated = true
	n.place = nil // searching for a bad row again would consume further rows
	n.start = func(ctx context.Context, _ int64) (stage, error) { return &fileStage{ctx: ctx, src: source(ctx)}, nil }
	return n, nil
}

// Generated reports whether the rows of a data set come from a Generator, or from another package's Dataset without random access. Only the
// program knows whether another process, or another pass, gets the same rows. Generated looks through transforms of this package.
func Generated(ds Dataset) bool { return adopt(ds).anyGenerated() }

func (n *node) anyGenerated() bool {
	for ; n != nil; n = n.up {
		if n.generated || slices.ContainsFunc(n.several, (*node).anyGenerated) {
			return true
		}
	}
	return false
}

// generatorReader reads the rows of one pass.
type generatorReader struct {
	ctx    context.Context // context of the last call that asked for rows
	node   *node
	fields []textField
	next   func() (Row, error, bool)
	cancel func() // ends ctx
	stop   func()
	row    int64 // rows taken
	err    error // found after good rows, or io.EOF
}

func (r *generatorReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	defer context.AfterFunc(ctx, r.cancel)()
	if limit <= 0 {
		limit = chunkRows
	}
	b := array.NewRecordBuilder(r.node.mem, r.node.schema.Arrow())
	defer b.Release()
	n := 0
	for n < limit && r.err == nil {
		if r.err = r.append(b); r.err == nil {
			n++
		}
	}
	if n == 0 {
		return nil, r.err
	}
	return completeRows(b, n), nil
}

// take returns the next row.
func (r *generatorReader) take() (Row, error) {
	row, err, ok := r.next()
	switch {
	case !ok && r.ctx.Err() != nil: // the function stopped early: these are not all rows
		return nil, r.ctx.Err()
	case !ok:
		return nil, io.EOF
	}
	r.row++
	if err != nil {
		return nil, &DataError{Row: r.row, Err: err}
	}
	return row, nil
}

func (r *generatorReader) append(b *array.RecordBuilder) error {
	row, err := r.take()
	if err != nil {
		return err
	}
	for i, f := range r.fields {
		v, err := jsonValueOf(row[f.spec.Name], b.Field(i).Type())
		if err == nil {
			err = f.json(b.Field(i), v)
		}
		if err != nil {
			return &DataError{Row: r.row, Name: f.spec.Name, Err: err}
		}
	}
	return nil
}

func (r *generatorReader) skip(ctx context.Context, n int64) error {
	defer context.AfterFunc(ctx, r.cancel)()
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.take(); err != nil {
			return err
		}
	}
	return nil
}

func (r *generatorReader) close() error {
	r.cancel()
	r.stop()
	return nil
}

// jsonValueOf returns a Go value as a JSON value.
func jsonValueOf(v any, t arrow.DataType) (any, error) {
	switch x := v.(type) {
	case nil, string, bool:
		return x, nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.String, reflect.Bool:
		return fmt.Sprint(v), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(r.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return json.Number(strconv.FormatUint(r.Uint(), 10)), nil
	case reflect.Float32:
		return floatValue(r.Float(), 32), nil
	case reflect.Float64:
		return floatValue(r.Float(), 64), nil
	case reflect.Slice, reflect.Array:
		if _, list := t.(arrow.ListLikeType); !list && r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
			return string(r.Bytes()), nil // database/sql returns text as bytes
		}
		return jsonListOf(r, t)
	}
	return nil, fmt.Errorf("value is of type %T, expected a number, a string, a bool, []byte or a slice of these", v)
}

// floatValue returns a number as text; integers have no exponent, so that integer columns can read them.
func floatValue(x float64, bits int) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return json.Number(strconv.FormatFloat(x, 'f', -1, bits))
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, bits))
}

// jsonListOf returns a slice as a JSON list.
func jsonListOf(r reflect.Value, t arrow.DataType) (any, error) {
	elem := t
	if l, ok := t.(arrow.ListLikeType); ok {
		elem = l.Elem()
	}
	out := make([]any, r.Len())
	for i := range out {
		var err error
		if out[i], err = jsonValueOf(r.Index(i).Interface(), elem); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// RowsOf yields the rows of a channel until it is closed or the context ends. A channel
// can be read once, so its data set serves one pass and cannot restore a position.
func RowsOf(rows <-chan Row) func(ctx context.Context) iter.Seq2[Row, error] {
	return func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			for {
				select {
				case row, ok := <-rows:
					if !ok || !yield(row, nil) {
						return
					}
				case <-ctx.Done():
					yield(nil, ctx.Err())
					return
				}
			}
		}
	}
}
