package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// TestDryRunTellsNobody: a config that does not load ends a job, unless --fast-dev-run only tries it.
func TestDryRunTellsNobody(t *testing.T) {
	for _, dry := range []bool{false, true} {
		t.Run(fmt.Sprintf("dry=%v", dry), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TF_CONFIG", fmt.Sprintf(`{"cluster": {"chief": ["localhost:1"]}, "task": {"type": "chief", "index": 0}, "model_dir": %q}`, dir))
			args := []string{"train", "--config", "none.yaml"}
			if dry {
				args = append(args, "--fast-dev-run")
			}
			if code := Run(context.Background(), args, io.Discard, io.Discard); code != exitUsage {
				t.Errorf("exit code %d, expected %d", code, exitUsage)
			}
			if _, err := os.Stat(filepath.Join(dir, checkpoint.RunStateFile)); errors.Is(err, os.ErrNotExist) != dry {
				t.Errorf("%s: %v", checkpoint.RunStateFile, err)
			}
		})
	}
}
