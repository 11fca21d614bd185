package inputs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// SQLSpec describes the query of format sql.
type SQLSpec struct {
	// Name of a driver of Go's database/sql: sqlite in binaries built with -tags sqlite, or a driver that your own program imports.
	Driver string `yaml:"driver,omitempty"`
	// The database, as the driver names it. sqlite: a file relative to data_dir, a URI (file:houses.db) or :memory:; files are opened read-only. It must not contain a password, because this config is copied to model_dir.
	Source string `yaml:"source,omitempty"`
	// Environment variable with the database's name, in place of source. A file name in it is relative to the working directory.
	SourceEnv string `yaml:"source_env,omitempty"`
	// The query, for example SELECT rooms, town, price FROM houses ORDER BY id. It runs once for its columns and again in each pass, so it must not change anything. With ORDER BY, all passes are alike.
	Query string `yaml:"query,omitempty"`
}

func (s Spec) validateSQL(vs *violation.List) {
	if s.Format != "sql" {
		vs.Require(s.SQL == SQLSpec{}, "sql", s.SQL.Query, "expected none: it is for format sql")
		return
	}
	vs.Require(s.SQL.Driver != "", "sql.driver", s.SQL.Driver, "expected the name of a driver, for example sqlite")
	vs.Require(s.SQL.Query != "", "sql.query", s.SQL.Query, "expected a query")
	vs.Require(s.SQL.Source != "" || s.SQL.SourceEnv != "", "sql.source", "", "expected the name of the database, or in source_env the environment variable that holds it")
	vs.Require(s.SQL.Source == "" || s.SQL.SourceEnv == "", "sql.source_env", s.SQL.SourceEnv, "expected none beside sql.source: give one of them")
	vs.Require(len(s.Files) == 0, "files", s.Files, "expected none: format sql reads a database")
}

// query returns the data set of format sql, and whether the workers must share its rows.
func (s Spec) query(ctx context.Context, ic Context) (_ Dataset, shardRows bool, err error) {
	if ic.NumPipelines > 1 && s.Shard != "rows" && s.Shard != "off" {
		return nil, false, fmt.Errorf("sql: %d workers ask the same query: set shard: rows, which needs an ORDER BY, or off where each has a query of its own", ic.NumPipelines)
	}
	d, err := s.SQL.database(ctx)
	if err != nil {
		return nil, false, err
	}
	o := ArrowOptions{Columns: s.Columns, Unlabeled: ic.unlabeled(), Damaged: s.damaged(ic), Allocator: ic.Allocator}
	r, fields, schema, err := d.ask(ctx, o)
	if err == nil {
		err = r.Close()
	}
	if err != nil {
		return nil, false, d.failed(err)
	}
	n := &node{schema: schema, mem: alloc(o.Allocator), label: "sql"}
	return liveNode(n, "query "+s.SQL.Query, Resume(s.Resume), func(ctx context.Context) (rowReader, error) {
		r, _, _, err := d.ask(ctx, o)
		if err != nil {
			return nil, d.failed(err)
		}
		rows, err := newSQLReader(r.Rows, n, fields, leftOut{o.Damaged, livePass{source: s.SQL.identity()}, d.hidden})
		if err != nil {
			return nil, d.failed(errors.Join(err, r.Close()))
		}
		return databaseReader{rows, r, d}, nil
	}), s.Shard == "rows", nil
}

// database is a database to open, and the query to ask.
type database struct {
	driver, source, query string
	hidden                hiddenName
}

// database returns the database of the query.
func (s SQLSpec) database(ctx context.Context) (database, error) {
	hidden := hiddenName{s.SourceEnv, os.Getenv(s.SourceEnv)}
	source, err := s.source(ctx)
	return database{s.Driver, source, s.Query, hidden}, hidden.in(err)
}

// identity distinguishes the rows of a query from others. It does not contain the value of source_env.
func (s SQLSpec) identity() string {
	return fmt.Sprintf("query %s of %s, %q in $%s", s.Query, s.Driver, s.Source, s.SourceEnv)
}

// failed returns an error of the database that does not show its name.
func (d database) failed(err error) error {
	return fmt.Errorf("query %s: %w", shown(d.query), d.hidden.in(err))
}

// databaseReader closes the database together with the rows.
type databaseReader struct {
	*sqlReader
	result databaseRows
	of     database
}

func (r databaseReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := r.sqlReader.read(ctx, limit)
	return rec, r.shown(err)
}

func (r databaseReader) skip(ctx context.Context, n int64) error {
	return r.shown(r.sqlReader.skip(ctx, n))
}

// shown returns a read error that does not show the database's name. Errors of rows that were left out do not show it anyway.
func (r databaseReader) shown(err error) error {
	if errors.Is(err, ErrTooManyDamaged) {
		return err
	}
	return r.of.hidden.in(err)
}

func (r databaseReader) close() error {
	if err := r.result.Close(); err != nil {
		return r.of.failed(err)
	}
	return nil
}

// databaseRows are the rows of a query, with the database opened for it.
type databaseRows struct {
	*sql.Rows
	db *sql.DB
}

// Close ends the query and the connection.
func (r databaseRows) Close() error { return errors.Join(r.Rows.Close(), r.db.Close()) }

// ask opens the database and runs the query.
func (d database) ask(ctx context.Context, o ArrowOptions) (r databaseRows, fields []textField, schema *Schema, err error) {
	if r.db, err = sql.Open(d.driver, d.source); err != nil {
		return r, nil, nil, err
	}
	if r.Rows, err = r.db.QueryContext(ctx, d.query); err != nil {
		return r, nil, nil, errors.Join(err, r.db.Close())
	}
	if fields, schema, err = queryColumns(r.Rows, o); err != nil {
		return r, nil, nil, errors.Join(err, r.Close())
	}
	return r, fields, schema, nil
}
