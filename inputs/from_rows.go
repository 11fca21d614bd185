package inputs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// FromRows returns the remaining rows of a query's result. Columns in o choose among the query's columns and set role, type,
// default and vocabulary, as for files; without them all columns are read with the types that the driver reports: integers as
// int64, other numbers as float64, text, bytes and times (2006-01-02T15:04:05Z) as strings.
//
// The rows come once: the first pass reads and closes them, a second one fails with an error that wraps ErrNoResume, and o.Resume
// says what a restored position means. FromQuery reads again in each pass. A pass that waits for the database ends
// with the context of the query.
func FromRows(rows *sql.Rows, o StreamOptions) (Dataset, error) {
	if rows == nil {
		return nil, errors.New("FromRows got no rows: pass the result of a query")
	}
	if err := o.Resume.validate(); err != nil {
		return nil, err
	}
	fields, schema, err := queryColumns(rows, o.ArrowOptions)
	if err != nil {
		return nil, err
	}
	n := &node{schema: schema, mem: alloc(o.Allocator)}
	var taken atomic.Bool
	return liveNode(n, "rows of a query", o.Resume, func(context.Context) (rowReader, error) {
		if taken.Swap(true) {
			return nil, fmt.Errorf("%w: the rows of a query were read before: use FromQuery, which asks again in each pass", ErrNoResume)
		}
		return newSQLReader(rows, n, fields, leftOut{o.Damaged, livePass{source: "rows of a query"}, hiddenName{}})
	}), nil
}

// FromQuery returns the rows of a query, with types as for FromRows. It asks the database once for the columns, and
// again in each pass, whose context ends the query.
//
// Restoring a position skips the rows delivered before: give the query an ORDER BY, so that it returns the
// same rows in the same order, and do not change the table.
func FromQuery(ctx context.Context, db *sql.DB, query string, args []any, o ArrowOptions) (Dataset, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", shown(query), err)
	}
	fields, schema, err := queryColumns(rows, o)
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	n := &node{schema: schema, mem: alloc(o.Allocator), label: "sql"}
	args = slices.Clone(args)
	source := fmt.Sprintf("query %s %v of %p", query, args, db)
	return liveNode(n, "query "+query, ResumeSkip, func(ctx context.Context) (rowReader, error) {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", shown(query), err)
		}
		return newSQLReader(rows, n, fields, leftOut{o.Damaged, livePass{source: source}, hiddenName{}})
	}), nil
}

// queryColumns returns the columns of a query's result that are to be read.
func queryColumns(rows *sql.Rows, o ArrowOptions) ([]textField, *Schema, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, nil, fmt.Errorf("columns of the query: %w", err)
	}
	all := len(o.Columns) == 0
	if all {
		for _, t := range types {
			o.Columns = append(o.Columns, ColumnSpec{Name: t.Name()})
		}
	}
	o.Columns = slices.Clone(o.Columns)
	for i := range o.Columns {
		c := &o.Columns[i]
		k := slices.IndexFunc(types, func(t *sql.ColumnType) bool { return t.Name() == c.Name })
		switch {
		case c.Role == Ignore:
		case k < 0:
			return nil, nil, fmt.Errorf("unknown column %q: the query has %s", c.Name, queryNames(types))
		case c.DType == "" && len(c.Vocabulary) == 0:
			if c.DType, err = queryType(types[k]); err != nil {
				return nil, nil, err
			}
		}
	}
	return declared("a query", o)
}

func queryNames(types []*sql.ColumnType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name()
	}
	return strings.Join(names, ", ")
}

// queryType returns the type with which a column of a query is read.
func queryType(t *sql.ColumnType) (string, error) {
	if d, ok := scanType(t.ScanType()); ok {
		return d.String(), nil
	}
	name := strings.ToUpper(t.DatabaseTypeName())
	for _, known := range []struct {
		part  string
		dtype tensor.DType
	}{
		{"INTEGER", tensor.Int64}, {"BIGINT", tensor.Int64}, {"SMALLINT", tensor.Int64}, {"MEDIUMINT", tensor.Int64}, {"TINYINT", tensor.Int64},
		{"INT2", tensor.Int64}, {"INT4", tensor.Int64}, {"INT8", tensor.Int64}, {"INT64", tensor.Int64}, {"SERIAL", tensor.Int64}, {"BOOL", tensor.Bool},
		{"DOUBLE", tensor.Float64}, {"FLOAT", tensor.Float64}, {"REAL", tensor.Float64}, {"NUMERIC", tensor.Float64}, {"DECIMAL", tensor.Float64},
		{"TIME", tensor.String}, {"DATE", tensor.String},
		{"CHAR", tensor.String}, {"TEXT", tensor.String}, {"CLOB", tensor.String}, {"BLOB", tensor.String}, {"BYTEA", tensor.String}, {"BINARY", tensor.String},
	} {
		if strings.Contains(name, known.part) || name == "INT" {
			return known.dtype.String(), nil
		}
	}
	return "", fmt.Errorf("column %q: type %q of the database has no tensor form: name a dtype under columns, or convert it in the query with CAST",
		t.Name(), t.DatabaseTypeName())
}

// scanType returns the element type for a driver's scan type.
func scanType(t reflect.Type) (tensor.DType, bool) {
	if t == nil {
		return 0, false
	}
	if t.Kind() == reflect.Struct && t.NumField() == 2 && t.Field(1).Name == "Valid" { // sql.NullInt64 and the like
		t = t.Field(0).Type
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return tensor.Int64, true
	case reflect.Float32, reflect.Float64:
		return tensor.Float64, true
	case reflect.Bool:
		return tensor.Bool, true
	case reflect.String:
		return tensor.String, true
	}
	return 0, false // also for bytes: drivers return decimals as bytes
}

// sqlReader reads the rows of a query.
type sqlReader struct {
	node   *node
	rows   *sql.Rows
	fields []textField
	at     []int // index of each field among the query's columns
	cells  []any
	row    int64 // rows read
	out    leftOut
	err    error // found after good rows, or io.EOF
}

// leftOut handles rows that cannot be read.
type leftOut struct {
	damaged *Damaged // nil: the first such row is an error
	pass    livePass // counts over the rows of the query in its database
	hidden  hiddenName
}

// row returns the error of a row after which reading can continue.
func (l *leftOut) row(row int64, column string, err error) error {
	return l.pass.row(l.hidden.in(&DataError{Row: row, Name: column, Err: err}))
}

func newSQLReader(rows *sql.Rows, n *node, fields []textField, out leftOut) (*sqlReader, error) {
	names, err := rows.Columns()
	if err != nil {
		_ = rows.Close() // the error to report is known
		return nil, fmt.Errorf("columns of the query: %w", err)
	}
	r := &sqlReader{node: n, rows: rows, fields: fields, out: out, cells: make([]any, len(names))}
	for i := range r.cells {
		r.cells[i] = new(any)
	}
	for _, f := range fields {
		k := slices.Index(names, f.spec.Name)
		if k < 0 {
			_ = rows.Close()
			return nil, fmt.Errorf("unknown column %q: the query has %s now", f.spec.Name, strings.Join(names, ", "))
		}
		r.at = append(r.at, k)
	}
	return r, nil
}

func (r *sqlReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	b := array.NewRecordBuilder(r.node.mem, r.node.schema.Arrow())
	defer b.Release()
	if r.err != nil {
		return nil, r.err
	}
	reading := rowReading{mem: r.node.mem, damaged: r.out.damaged}
	rec, err := reading.rows(ctx, b, limit, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.append(b)
	})
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) { // otherwise the next call continues
		r.err = err
	}
	if eof(err) && r.out.damaged != nil {
		r.out.damaged.ended()
	}
	return orEnded(ctx, rec, err)
}

// next moves to the next row.
func (r *sqlReader) next() error {
	if r.rows.Next() {
		r.row++
		return nil
	}
	if err := r.failed(r.row + 1); err != nil {
		return err
	}
	return io.EOF
}

// failed returns the error of the query at a row, nil if there is none.
func (r *sqlReader) failed(row int64) error {
	if err := r.rows.Err(); err != nil {
		return &DataError{Row: row, Err: fmt.Errorf("query failed: %w", err)}
	}
	return nil
}

func (r *sqlReader) append(b *array.RecordBuilder) error {
	if err := r.next(); err != nil {
		return err
	}
	return r.scan(b)
}

// scan appends the current row.
func (r *sqlReader) scan(b *array.RecordBuilder) error {
	if err := r.rows.Scan(r.cells...); err != nil {
		if failed := r.failed(r.row); failed != nil {
			return failed // not an error of the row
		}
		return r.out.row(r.row, "", fmt.Errorf("row cannot be read: %w", err))
	}
	for i, f := range r.fields {
		v, err := sqlValueOf(*r.cells[r.at[i]].(*any), b.Field(i).Type())
		if err == nil {
			err = f.json(b.Field(i), v)
		}
		if errors.Is(err, errMissing) {
			err = errors.New("value is NULL: give the column a default, or leave such rows out in the query")
		}
		if err != nil {
			return r.out.row(r.row, f.spec.Name, err)
		}
	}
	return nil
}

// sqlValueOf returns a cell as a JSON value. A time becomes text in RFC 3339 format.
func sqlValueOf(v any, t arrow.DataType) (any, error) {
	at, ok := v.(time.Time)
	switch {
	case !ok:
		return jsonValueOf(v, t)
	case t.ID() == arrow.STRING || t.ID() == arrow.BINARY:
		return at.Format(time.RFC3339Nano), nil
	}
	return nil, errors.New("value is a time, expected a number: give the column dtype: string, or make it a number in the query")
}

func (r *sqlReader) skip(ctx context.Context, n int64) error {
	if r.out.damaged != nil {
		return readPast(ctx, r, n)
	}
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

func (r *sqlReader) close() error { return r.rows.Close() }
