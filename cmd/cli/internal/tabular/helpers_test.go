package tabular_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// write makes a file and returns its path.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a table and fails the test on errors.
func read(t testing.TB, name, content string, o tabular.Options) *tabular.Profile {
	t.Helper()
	p, err := tabular.Read(t.Context(), write(t, name, content), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// table is a CSV text with a header and n rows; each cell is made by its column's function.
func table(n int, header string, cells ...func(row int) string) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for r := range n {
		for i, c := range cells {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(c(r))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// format makes cells from the row number times factor, modulo m if m > 0.
func format(f string, factor, m int) func(int) string {
	return func(r int) string {
		v := r * factor
		if m > 0 {
			v %= m
		}
		return fmt.Sprintf(f, v)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return b
}
