package inputs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
)

// table is a table in memory that database/sql reads, whatever the query.
type table struct {
	columns []string
	types   []string       // of the database
	scans   []reflect.Type // types that the driver reports; nil: none
	rows    [][]driver.Value
	fail    error // after the last row
	queries int
}

// open returns the table as a database.
func (t *table) open(tb testing.TB) *sql.DB {
	db := sql.OpenDB(tableConnector{t})
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

type tableConnector struct{ t *table }

func (c tableConnector) Connect(context.Context) (driver.Conn, error) { return tableConn(c), nil }
func (c tableConnector) Driver() driver.Driver                        { return nil }

type tableConn struct{ t *table }

func (c tableConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (c tableConn) Close() error                        { return nil }
func (c tableConn) Begin() (driver.Tx, error)           { return nil, errors.New("no transactions") }

// QueryContext returns the first rows of the table; the first argument is their number.
func (c tableConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if query == "wrong" {
		return nil, errors.New("syntax error")
	}
	c.t.queries++
	rows := c.t.rows
	if len(args) > 0 {
		rows = rows[:args[0].Value.(int64)]
	}
	return &tableRows{t: c.t, left: rows}, nil
}

type tableRows struct {
	t    *table
	left [][]driver.Value
}

func (r *tableRows) Columns() []string                       { return r.t.columns }
func (r *tableRows) Close() error                            { return nil }
func (r *tableRows) ColumnTypeDatabaseTypeName(i int) string { return r.t.types[i] }
func (r *tableRows) ColumnTypeScanType(i int) reflect.Type {
	if r.t.scans == nil {
		return reflect.TypeFor[any]()
	}
	return r.t.scans[i]
}

func (r *tableRows) Next(dst []driver.Value) error {
	if len(r.left) == 0 {
		if r.t.fail != nil {
			return r.t.fail
		}
		return io.EOF
	}
	copy(dst, r.left[0])
	r.left = r.left[1:]
	return nil
}

// numbersTable is numbers as a table.
func numbersTable(n int) *table {
	t := &table{columns: []string{"x", "id", "word"}, types: []string{"DOUBLE PRECISION", "BIGINT", "VARCHAR(20)"}}
	for i := range n {
		t.rows = append(t.rows, []driver.Value{float64(i) / 4, int64(i), fmt.Sprintf("w%d", i)})
	}
	return t
}
