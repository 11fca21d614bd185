package inputs

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/features"
)

// IsFile reports whether source is the name of a file: the driver is sqlite, and source is neither a URI nor a database in memory.
func (s SQLSpec) IsFile() bool { return s.Driver == "sqlite" && s.Source != "" && !sqliteURI(s.Source) }

// sqliteURI reports whether the driver sqlite takes a name for something other than a file of that name.
func sqliteURI(name string) bool {
	return strings.HasPrefix(name, "file:") || name == sqliteMemory || strings.HasPrefix(name, sqliteMemory+"?")
}

const sqliteMemory = ":memory:"

// source returns the name by which the driver knows the database.
func (s SQLSpec) source(ctx context.Context) (string, error) {
	if err := s.checkDriver(); err != nil {
		return "", err
	}
	name, key := s.Source, "sql.source"
	if s.SourceEnv != "" {
		key = "sql.source_env"
		if name = os.Getenv(s.SourceEnv); name == "" {
			return "", fmt.Errorf("sql.source_env: the environment variable %s is not set: let it hold the name of the database", s.SourceEnv)
		}
	}
	if s.Driver != "sqlite" {
		return name, nil
	}
	name, err := sqliteSource(ctx, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return name, nil
}

// sqliteSource returns a name with which the driver sqlite opens a database read-only.
func sqliteSource(ctx context.Context, name string) (string, error) {
	switch {
	case strings.HasPrefix(name, "file:"):
		return readOnlyURI(name)
	case sqliteURI(name):
		return name, nil
	case IsURL(name):
		return "", fmt.Errorf("%s is no file of this machine: give the absolute path of one", name)
	}
	if err := checkFile(ctx, name); err != nil { // the driver would create an empty database
		return "", err
	}
	return "file:" + (&url.URL{Path: name}).EscapedPath() + "?mode=ro", nil
}

// readOnlyURI returns a URI of SQLite with mode=ro, unless it has that mode or is a database in memory.
// See https://www.sqlite.org/uri.html.
func readOnlyURI(uri string) (string, error) {
	uri, _, _ = strings.Cut(uri, "#") // SQLite ignores the fragment
	_, query, asked := strings.Cut(uri, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return "", fmt.Errorf("parameters of the URI: %w", err)
	}
	modes := parameters["mode"]
	for _, mode := range modes {
		if mode != "ro" && mode != "memory" {
			return "", fmt.Errorf("mode=%s, expected mode=ro: a database is opened for reading only", mode)
		}
	}
	switch {
	case len(modes) > 0:
		return uri, nil
	case asked:
		return uri + "&mode=ro", nil
	}
	return uri + "?mode=ro", nil
}

// checkDriver fails if this binary does not have the driver.
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
