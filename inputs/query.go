package inputs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/goestimator/goestimator/runconfig/violation"
)

// SQLSpec is the query of format sql.
type SQLSpec struct {
	// The driver of database/sql: sqlite in binaries built with -tags sqlite, others in a program of your own that imports them.
	Driver string `yaml:"driver,omitempty"`
	// The database, as the driver names it; of sqlite a file, which is opened for reading only. Without passwords: this file is copied to model_dir.
	Source string `yaml:"source,omitempty"`
	// The environment variable that holds the database's name, in place of source.
	SourceEnv string `yaml:"source_env,omitempty"`
	// The query, for example SELECT rooms, town, price FROM houses ORDER BY id. It is asked in each pass; an ORDER BY makes the passes alike.
	Query string `yaml:"query,omitempty"`
}

func (s Spec) validateSQL(vs *violation.List) {
	if s.Format != "sql" {
		vs.Require(s.SQL == SQLSpec{}, "sql", s.SQL.Query, "expected none: it is for format sql")
		return
	}
	vs.Require(s.SQL.Driver != "", "sql.driver", s.SQL.Driver, "expected the name of a driver, for example sqlite")
	vs.Require(s.SQL.Query != "", "sql.query", s.SQL.Query, "expected a query")
	vs.Require((s.SQL.Source == "") != (s.SQL.SourceEnv == ""), "sql.source", s.SQL.Source, "expected the name of the database, or in source_env the environment variable that holds it")
	vs.Require(len(s.Files) == 0, "files", s.Files, "expected none: format sql reads a database")
}

// query is the data set of format sql, and whether the workers must share its rows.
func (s Spec) query(ctx context.Context, ic Context) (_ Dataset, shardRows bool, err error) {
	if ic.NumPipelines > 1 && s.Shard != "rows" && s.Shard != "off" {
		return nil, false, fmt.Errorf("sql: %d workers ask the same query: set shard: rows, which needs an ORDER BY, or off where each has a query of its own", ic.NumPipelines)
	}
	source, err := s.SQL.source(ctx)
	if err != nil {
		return nil, false, err
	}
	o := ArrowOptions{Columns: s.Columns, Unlabeled: ic.unlabeled(), Allocator: ic.Allocator}
	r, fields, schema, err := s.SQL.ask(ctx, source, o)
	if err != nil {
		return nil, false, err
	}
	if err := r.Close(); err != nil {
		return nil, false, s.SQL.failed(source, err)
	}
	n := &node{schema: schema, mem: alloc(o.Allocator)}
	return liveNode(n, "query "+s.SQL.Query, Resume(s.Resume), func(ctx context.Context) (rowReader, error) {
		r, _, _, err := s.SQL.ask(ctx, source, o)
		if err != nil {
			return nil, err
		}
		rows, err := newSQLReader(r.Rows, n, fields)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return databaseReader{rows, r}, nil
	}), s.Shard == "rows", nil
}

// databaseReader closes the database with the rows.
type databaseReader struct {
	*sqlReader
	result databaseRows
}

func (r databaseReader) close() error { return r.result.Close() }

// databaseRows are the rows of a query with the database that was opened for it.
type databaseRows struct {
	*sql.Rows
	db *sql.DB
}

// Close ends the query and the connection.
func (r databaseRows) Close() error { return errors.Join(r.Rows.Close(), r.db.Close()) }

// ask opens the database and asks the query.
func (s SQLSpec) ask(ctx context.Context, source string, o ArrowOptions) (r databaseRows, fields []textField, schema *Schema, err error) {
	if r.db, err = sql.Open(s.Driver, source); err != nil {
		return r, nil, nil, s.failed(source, err)
	}
	if r.Rows, err = r.db.QueryContext(ctx, s.Query); err != nil {
		return r, nil, nil, errors.Join(s.failed(source, err), r.db.Close())
	}
	if fields, schema, err = queryColumns(r.Rows, o); err != nil {
		return r, nil, nil, errors.Join(err, r.Close())
	}
	return r, fields, schema, nil
}

// failed is an error of the database without the name of the source, which may hold a password.
func (s SQLSpec) failed(source string, err error) error {
	text := err.Error()
	if s.SourceEnv != "" {
		text = strings.ReplaceAll(text, source, "$"+s.SourceEnv)
	}
	return fmt.Errorf("query %s: %w", shown(s.Query), &explained{err, text})
}

// source returns the name by which the driver knows the database.
func (s SQLSpec) source(ctx context.Context) (string, error) {
	if err := s.checkDriver(); err != nil {
		return "", err
	}
	name := s.Source
	if s.SourceEnv != "" {
		if name = os.Getenv(s.SourceEnv); name == "" {
			return "", fmt.Errorf("sql.source_env: the environment variable %s is not set: let it hold the name of the database", s.SourceEnv)
		}
	}
	if s.Driver != "sqlite" || strings.HasPrefix(name, "file:") || strings.HasPrefix(name, ":") {
		return name, nil
	}
	if err := checkFile(ctx, name); err != nil { // the driver would make an empty database
		return "", err
	}
	return "file:" + (&url.URL{Path: name}).EscapedPath() + "?mode=ro", nil
}

// checkDriver fails for a driver that this binary does not hold.
func (s SQLSpec) checkDriver() error {
	have := sql.Drivers()
	if slices.Contains(have, s.Driver) {
		return nil
	}
	if s.Driver == "sqlite" {
		if err := features.Need("sqlite"); err != nil {
			return fmt.Errorf("sql.driver: %w", err)
		}
	}
	list := "none"
	if len(have) > 0 {
		list = strings.Join(have, ", ")
	}
	return fmt.Errorf("sql.driver: this binary does not hold the driver %q (it has %s): import it in a main of your own, see docs/data.md", s.Driver, list)
}
