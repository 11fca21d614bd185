//go:build unix

package summary_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/format/summary"
)

// A pipe named like an event file is not one: nobody waits for its writer. A link to a file is one.
func TestPipesAreNoEventFiles(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, summary.FilePrefix+s) }
	if err := errors.Join(os.WriteFile(name(".1.file"), nil, 0o600), syscall.Mkfifo(name(".2.pipe"), 0o600),
		os.Symlink(name(".1.file"), name(".3.link")), os.Symlink(name(".2.pipe"), name(".4.link")), os.Symlink(dir, name(".5.folder"))); err != nil {
		t.Fatal(err)
	}
	got, err := summary.Files(dir)
	if want := []string{name(".1.file"), name(".3.link")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v and %v, expected %v", got, err, want)
	}
}
