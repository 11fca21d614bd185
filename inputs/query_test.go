package inputs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
)

// tables is a driver whose databases are tables; the name is the number of rows.
type tables struct{}

func init() { sql.Register("tables", tables{}) }

func (tables) Open(name string) (driver.Conn, error) {
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, errors.New("no database " + name)
	}
	return tableConn{numbersTable(n)}, nil
}

// querySpec returns a spec that asks for the rows of a table.
func querySpec(rows string) Spec {
	s := DefaultSpec()
	s.Format, s.BatchSize = "sql", 2
	s.SQL = SQLSpec{Driver: "tables", Source: rows, Query: "select"}
	s.Columns = []ColumnSpec{{Name: "x"}, {Name: "id", Role: Label}}
	return s
}

func TestSQL(t *testing.T) {
	ds, err := Open(t.Context(), querySpec("3"), Context{Mode: Train, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each pass asks again
		if d := cmp.Diff([][]int64{{0, 1}, {2}}, ids(t, ds)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	shared := querySpec("5")
	shared.Shard = "rows"
	if ds, err = Open(t.Context(), shared, Context{Mode: Train, NumPipelines: 2, Pipeline: 1}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{1, 3}, flat(ids(t, ds))); d != "" {
		t.Errorf("the share of a worker (-want +got):\n%s", d)
	}
	t.Setenv("TEST_DATABASE", "4")
	fromEnv := querySpec("")
	fromEnv.SQL.SourceEnv = "TEST_DATABASE"
	if ds, err = Open(t.Context(), fromEnv, Context{Mode: Predict}); err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); got != "x float64 feature" {
		t.Errorf("to predict: got %s", got)
	}
}

// TestSQLResumes: a position is restored as the config says.
func TestSQLResumes(t *testing.T) {
	at := func(resume string) Iterator {
		s := querySpec("5")
		s.Resume = resume
		ds, err := Open(t.Context(), s, Context{Mode: Train})
		if err != nil {
			t.Fatal(err)
		}
		return iterate(t, ds)
	}
	it := at("")
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := at("").Restore(state); !errors.Is(err, ErrNoResume) {
		t.Errorf("error: got %v", err)
	}
	for resume, want := range map[string]int64{"skip": 2, "restart": 0} {
		it := at(resume)
		if err := it.Restore(state); err != nil {
			t.Fatal(err)
		}
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Column(1).(*array.Int64).Value(0); got != want {
			t.Errorf("%s: goes on with row %d, expected %d", resume, got, want)
		}
		rec.Release()
	}
}

func TestSQLErrors(t *testing.T) {
	t.Setenv("TEST_SECRET", "host?password=hush")
	for want, change := range map[string]func(*Spec){
		`this binary does not hold the driver "oracle" (it has`: func(s *Spec) { s.SQL.Driver = "oracle" },
		"sql.driver": func(s *Spec) { s.SQL.Driver = "" }, "sql.query": func(s *Spec) { s.SQL.Query = "" }, "sql.source: got \"\"": func(s *Spec) { s.SQL.Source = "" },
		`sql.source_env: got "HOME", expected none beside sql.source`: func(s *Spec) { s.SQL.Source, s.SQL.SourceEnv = "db://app:hush@host", "HOME" },
		"TEST_NOTHING is not set":                                     func(s *Spec) { s.SQL.Source, s.SQL.SourceEnv = "", "TEST_NOTHING" },
		`query "select": no database $TEST_SECRET`:                    func(s *Spec) { s.SQL.Source, s.SQL.SourceEnv = "", "TEST_SECRET" },
		`query "wrong": syntax error`:                                 func(s *Spec) { s.SQL.Query = "wrong" },
		`unknown column "y": the query has x, id`:                     func(s *Spec) { s.Columns[0].Name = "y" },
		"files: got [a.db]":                                           func(s *Spec) { s.Files = []string{"a.db"} },
		"sql: got \"select\", expected none":                          func(s *Spec) { s.Format, s.Files = "csv", []string{"a.csv"} },
		"set shard: rows, which needs an ORDER BY, or":                func(*Spec) {},
	} {
		s := querySpec("3")
		change(&s)
		_, err := Open(t.Context(), s, Context{Mode: Train, NumPipelines: 1 + strings.Count(want, "set shard")})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestSQLSkips: rows that cannot be read are left out and counted, and do not count for a restored position.
func TestSQLSkips(t *testing.T) {
	bad := numbersTable(6)
	bad.rows[1][0], bad.rows[4][1] = nil, "many"
	db := bad.open(t)
	count := silent()
	ds, err := FromQuery(t.Context(), db, "select", nil, ArrowOptions{Columns: []ColumnSpec{{Name: "x"}, {Name: "id", Role: Label}}, Damaged: count})
	if err != nil {
		t.Fatal(err)
	}
	ds = Batch(2, false)(ds)
	if d := cmp.Diff([][]int64{{0, 2}, {3, 5}}, ids(t, ds)); d != "" || count.Count() != 2 {
		t.Errorf("%d rows left out; the others (-want +got):\n%s", count.Count(), d)
	}
	if err := count.First(); err == nil || !strings.Contains(err.Error(), `row 2: column "x": value is NULL: give the column a default`) {
		t.Errorf("the first: got %v", err)
	}
	it := iterate(t, ds)
	takeOne(t, it)
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	again := iterate(t, ds)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	if got := next(t, again, ds.Schema()); got != next(t, it, ds.Schema()) || got == "" {
		t.Errorf("after the position: got %s", got)
	}
	s := querySpec("3")
	s.OnError = "skip"
	if err := readAll(s, Context{}); err != nil {
		t.Errorf("in a config: %v", err)
	}
}

// TestSQLEndsBetweenRows: a row is not damaged if the query ends before the row is read.
func TestSQLEndsBetweenRows(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := numbersTable(3).open(t).QueryContext(ctx, "select")
	if err != nil {
		t.Fatal(err)
	}
	fields, schema, err := queryColumns(rows, ArrowOptions{Columns: querySpec("").Columns})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{schema: schema, mem: checked(t)}
	r, err := newSQLReader(rows, n, fields, leftOut{damaged: silent()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for rows.Err() == nil {
		runtime.Gosched() // until the query has seen it
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(n.mem, schema.Arrow())
	defer b.Release()
	if err := r.out.damaged.pass(r.scan(b)); !errors.Is(err, context.Canceled) || r.out.damaged.Count() != 0 {
		t.Errorf("%d rows left out: %v", r.out.damaged.Count(), err)
	}
}
