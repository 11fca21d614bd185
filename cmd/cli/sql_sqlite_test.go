//go:build sqlite

package cli

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// TestSQLite reads each type of column of an SQLite file.
func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE TABLE rows (id INTEGER PRIMARY KEY, price REAL, town TEXT, raw BLOB, sold BOOLEAN, day DATE, rooms INT)",
		"INSERT INTO rows VALUES (1, 2.5, 'Ulm', x'00ff', TRUE, '2026-01-02', NULL), (2, -1e300, 'Köln', x'', FALSE, '2026-01-03', 4)",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := inputs.DefaultSpec()
	s.Format, s.SQL = "sql", inputs.SQLSpec{Driver: "sqlite", Source: path, Query: "SELECT * FROM rows ORDER BY id"}
	s.Columns = []inputs.ColumnSpec{{Name: "id"}, {Name: "price"}, {Name: "town", DType: "string"}, {Name: "raw", DType: "string"}, {Name: "sold"}, {Name: "day"}, {Name: "rooms", DType: "int64", Default: 0}}
	open := func() (inputs.Dataset, error) {
		return inputs.Open(context.Background(), s, inputs.Context{Mode: inputs.Train})
	}
	ds, err := open()
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	columns, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]*tensor.Tensor{}
	for _, c := range columns {
		value[c.Name] = c.Tensor
	}
	if value["id"].Int(1) != 2 || value["price"].Float(1) != -1e300 || string(value["town"].Strings[1]) != "Köln" || string(value["raw"].Strings[0]) != "\x00\xff" ||
		!tensor.Values[bool](value["sold"])[0] || !strings.HasPrefix(string(value["day"].Strings[1]), "2026-01-03") || value["rooms"].Int(0) != 0 || value["rooms"].Int(1) != 4 {
		t.Errorf("got %v", columns)
	}

	s.Columns[6].Default = nil
	if ds, err = open(); err != nil {
		t.Fatal(err)
	}
	broken, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	if _, err := broken.Next(t.Context()); err == nil || !strings.Contains(err.Error(), `row 1: column "rooms": value is NULL`) {
		t.Errorf("a missing value: got %v", err)
	}
	s.SQL.Query = "DELETE FROM rows"
	if _, err := open(); err == nil {
		t.Error("a query may write")
	}
	s.SQL.Source = "file:" + strings.ReplaceAll(path, " ", "%20")
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("a query may write to a URI: got %v", err)
	}
	for _, more := range []string{"?mode=rwc", "x"} {
		s.SQL.Source = "file:" + path + more
		if _, err := open(); err == nil {
			t.Errorf("%s is opened", s.SQL.Source)
		}
	}
	s.SQL.Source, s.SQL.Query = ":memory:", "SELECT 1 AS id, 2 AS price, 'a' AS town, 'b' AS raw, TRUE AS sold, 'c' AS day, 3 AS rooms"
	if _, err := open(); err != nil {
		t.Errorf("a database in memory: %v", err)
	}
	s.SQL.Source = "s3://bucket/houses.db"
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "sql.source: s3://bucket/houses.db is no file of this machine") {
		t.Errorf("an object: got %v", err)
	}
	s.SQL.Source = path + "x"
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing file: got %v", err)
	}
	if _, err := os.Stat(path + "x"); err == nil {
		t.Error("a missing file is made")
	}
}
