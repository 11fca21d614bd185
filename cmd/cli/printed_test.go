package cli

import (
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"
)

// failing is a writer that always fails.
type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// TestLostOutput: a command that cannot print its results fails, unless the reader closed the pipe.
func TestLostOutput(t *testing.T) {
	for err, code := range map[error]int{syscall.ENOSPC: 1, syscall.EPIPE: 0, io.ErrClosedPipe: 0} {
		var stderr bytes.Buffer
		got := Run(t.Context(), []string{"tf-config", "--help"}, failing{err}, &stderr)
		if got != code || (code == 1) != strings.Contains(stderr.String(), "standard output: no space left on device: free some space and start again") {
			t.Errorf("%v: exit code %d, expected %d: %s", err, got, code, stderr.String())
		}
	}
}
