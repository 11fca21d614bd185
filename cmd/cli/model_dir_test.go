package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/failpoint"
)

func TestModelDirIsMadeDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "a")
	off, err := failpoint.Enable("atomicfile/directory-durable", "error")
	if err != nil {
		t.Fatal(err)
	}
	err = checkWritable(dir)
	off()
	if !errors.Is(err, failpoint.ErrInjected) {
		t.Errorf("got %v", err)
	}
	if err := checkWritable(dir); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkWritable(file); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a file as model_dir: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
