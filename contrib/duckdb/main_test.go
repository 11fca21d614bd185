package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/inputs"
)

// TestReadsDuckDB reads a query from a DuckDB file with an input of format sql, which opens the file read-only.
func TestReadsDuckDB(t *testing.T) {
	file := filepath.Join(t.TempDir(), "houses.duckdb")
	db, err := sql.Open("duckdb", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE houses (rooms INTEGER, town VARCHAR, price DOUBLE)", "INSERT INTO houses VALUES (3, 'Ulm', 1.5), (5, 'Bonn', 2.5)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	spec := inputs.DefaultSpec()
	spec.Format, spec.BatchSize = "sql", 2
	spec.SQL = inputs.SQLSpec{Driver: "duckdb", Source: file + "?access_mode=read_only", Query: "SELECT rooms, town, price FROM houses ORDER BY rooms"}
	spec.Columns = []inputs.ColumnSpec{{Name: "rooms"}, {Name: "town", DType: "string"}, {Name: "price", Role: inputs.Label}}
	ctx := context.Background()
	ds, err := inputs.Open(ctx, spec, inputs.Context{Mode: inputs.Eval})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rec, err := rows.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	columns, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if rec.NumRows() != 2 || len(columns) != 3 || string(columns[1].Tensor.Strings[1]) != "Bonn" {
		t.Errorf("got %v", rec)
	}
	if _, err := rows.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end", err)
	}
}
