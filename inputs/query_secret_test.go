package inputs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// leaky is a driver whose errors show the names of its databases. The query says where it fails.
type leaky struct{}

func init() { sql.Register("leaky", leaky{}) }

func (leaky) Open(name string) (driver.Conn, error) {
	if _, err := url.Parse(name); err != nil {
		var bad *url.Error
		if errors.As(err, &bad) && strings.HasSuffix(name, "?inner") { // as pgx does
			return nil, fmt.Errorf("cannot parse `db://xxxxx`: %w", bad.Err)
		}
		return nil, fmt.Errorf("open: %w", err)
	}
	return leakyConn{tableConn{numbersTable(3)}, name}, nil
}

type leakyConn struct {
	tableConn
	name string
}

// leaked is a failure of a connection.
func (c leakyConn) leaked() error { return fmt.Errorf("connection to %q lost: %w", c.name, errBroken) }

func (c leakyConn) Close() error { return c.leaked() }

func (c leakyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	switch query {
	case "parts": // as drivers report them
		u, err := url.Parse(c.name)
		if err != nil {
			return nil, err
		}
		password, _ := u.User.Password()
		return nil, fmt.Errorf("password %s (%s) refused at %s", password, url.QueryEscape(password), u)
	case "all":
		return nil, errors.New("refused: " + c.name)
	}
	c.t.fail = c.leaked()
	return c.tableConn.QueryContext(ctx, query, args)
}

// TestSQLHidesPasswords: no error shows a password that source_env holds.
func TestSQLHidesPasswords(t *testing.T) {
	const invalid = "$TEST_SECRET is not a valid URL: write #, /, ?, % and @ of a password as %23"
	for name, c := range map[string]struct{ source, query, want string }{
		"a # in a password":       {"db://app:hush#secret@host/db", "all", invalid},
		"a / in a password":       {"db://app:hush/secret@host/db", "all", invalid},
		"a % in a password":       {"db://app:hush%secret@host/db", "all", invalid},
		"what is wrong of a URL":  {"db://app:hush/secret@host/db?inner", "all", invalid},
		"a port as the password":  {"db://app:12/hush-secret@host/db", "parts", "at $TEST_SECRET"},
		"parts":                   {"db://app:hush%2Fsecret@host/db", "parts", "password $TEST_SECRET ($TEST_SECRET) refused at $TEST_SECRET"},
		"all":                     {"app:hush/secret@tcp(host)/db", "all", "refused: $TEST_SECRET"},
		"words":                   {"host=x password='hush secret'", "all", "refused: $TEST_SECRET"},
		"quoted":                  {`db:"hush\secret"`, "rows", `connection to "$TEST_SECRET" lost`},
		"the end of the rows":     {"db://app:hush-secret@host/db", "rows", `connection to "$TEST_SECRET" lost`},
		"the end of the database": {"db://app:hush-secret@host/db", "columns", `connection to "$TEST_SECRET" lost`},
	} {
		t.Setenv("TEST_SECRET", c.source)
		s := querySpec("")
		s.SQL = SQLSpec{Driver: "leaky", SourceEnv: "TEST_SECRET", Query: c.query}
		if c.query == "columns" {
			s.Columns[0].Name = "unknown"
		}
		_, err := Open(t.Context(), s, Context{Mode: Train})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
}

// TestSQLReaderHidesPasswords: an error of a pass shows no password either, and remains the error of a row.
func TestSQLReaderHidesPasswords(t *testing.T) {
	d := database{driver: "leaky", source: "db://app:hush@host/db", query: "rows", hidden: hiddenName{"TEST_SECRET", "db://app:hush@host/db"}}
	r, fields, schema, err := d.ask(t.Context(), ArrowOptions{Columns: querySpec("").Columns})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{schema: schema, mem: checked(t)}
	rows, err := newSQLReader(r.Rows, n, fields, leftOut{hidden: d.hidden})
	if err != nil {
		t.Fatal(err)
	}
	reader := databaseReader{rows, r, d}
	rec, err := reader.read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	_, err = reader.read(t.Context(), 0)
	var row *DataError
	if !errors.As(err, &row) || row.Row != 4 || !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	for what, err := range map[string]error{"a read": err, "its row": row, "a skip": reader.skip(t.Context(), 1), "the end": reader.close()} {
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestSQLHiddenBound: with source_env, too, the error for more damaged rows than max_errors says so.
func TestSQLHiddenBound(t *testing.T) {
	t.Setenv("TEST_SECRET", "5")
	s := querySpec("")
	s.SQL.SourceEnv, s.OnError, s.MaxErrors = "TEST_SECRET", "skip", 1
	s.Columns = []ColumnSpec{{Name: "word", DType: "int64"}}
	err := readAll(s, Context{Mode: Predict, Damaged: silent()})
	var row *DataError
	if !errors.Is(err, ErrTooManyDamaged) || !strings.Contains(err.Error(), "max_errors") || !errors.As(err, &row) || row.Row != 2 {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:a.db": "file:a.db?mode=ro", "file:a.db?cache=shared": "file:a.db?cache=shared&mode=ro", "file:a.db#x": "file:a.db?mode=ro", "file:a.db?mode=ro": "file:a.db?mode=ro",
		"file:a?mode=memory&cache=shared": "file:a?mode=memory&cache=shared", "file:a.db?mode=rw": "", "file:a.db?mode=ro&mode=rwc": "", "file:a.db?m%6fde=rwc": "", "file:a.db?mode=%": "",
	} {
		got, err := readOnlyURI(uri)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, expected %q", uri, got, err, want)
		}
	}
}
