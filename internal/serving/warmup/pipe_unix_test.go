//go:build unix

package warmup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/warmup"
)

// A version with a pipe in place of its records is refused: the reader does not wait for a writer.
func TestPipeOfRecords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(warmup.File))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := warmup.Run(t.Context(), nil, servable.ID{Name: "m", Version: 1}, dir, warmup.Options{}); err == nil || !strings.Contains(err.Error(), "not a pipe") {
		t.Errorf("got %v, expected a refusal", err)
	}
	if f := warmup.Feeds(t.Context(), dir, nil); f != nil {
		t.Errorf("got %v of a pipe", f)
	}
}
