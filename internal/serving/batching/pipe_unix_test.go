//go:build unix

package batching_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/batching"
)

// A pipe in place of a model's parameters is an error: the reader does not wait for a
// writer.
func TestPipeOfParameters(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, batching.ParametersFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := batching.ForModel(dir); ok || err == nil {
		t.Errorf("got %v and %v, expected an error", ok, err)
	}
}
