//go:build unix

package batching_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/batching"
)

// A pipe in the place of a model's parameters is an error: nobody waits for its writer.
func TestPipeOfParameters(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, batching.ParametersFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := batching.ForModel(dir); ok || err == nil {
		t.Errorf("got %v and %v, expected an error", ok, err)
	}
}
