package interop_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
)

// scriptTime limits the time of a script; on an idle machine, scripts take seconds.
const scriptTime = 10 * time.Minute

// python is an interpreter with a peer's modules.
type python struct{ path string }

// venv is a program in the environment that `make peers` installs.
func venv(name string) string { return filepath.Join(testkit.Root(), ".venv", "bin", name) }

// peers returns the interpreter with TensorFlow, TensorBoard and pyarrow, or skips the test.
func peers(t *testing.T) python {
	t.Helper()
	ready := filepath.Join(testkit.Root(), ".venv", "ready")
	if _, err := os.Stat(ready); err != nil {
		t.Skip("skipped: TensorFlow and pyarrow are not installed (make peers)")
	}
	return python{venv("python")}
}

// findTorch looks for an interpreter with PyTorch; "" if there is none.
var findTorch = sync.OnceValue(func() string {
	system, _ := exec.LookPath("python3")
	for _, path := range []string{venv("python"), system, "/usr/bin/python3"} {
		if path != "" && exec.Command(path, "-c", "import torch, numpy").Run() == nil {
			return path
		}
	}
	return ""
})

// torch returns the interpreter with PyTorch, or skips the test.
func torch(t *testing.T) python {
	t.Helper()
	path := findTorch()
	if path == "" {
		t.Skip("skipped: no python3 here has PyTorch")
	}
	return python{path}
}

// run runs a script in python/ and returns its output; if the script fails, so does the test.
func (p python) run(t *testing.T, script string, args ...string) string {
	t.Helper()
	return p.within(t, scriptTime, script, args...)
}

// within is run with another time limit.
func (p python) within(t *testing.T, limit time.Duration, script string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, p.path, append([]string{filepath.Join("python", script)}, args...)...)
	cmd.Env = peerEnvironment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", script, err, out, tail(stderr.String(), 4000))
	}
	t.Logf("%s: %s", script, strings.TrimSpace(string(out)))
	return string(out)
}

// peerEnvironment is the environment of Python processes.
func peerEnvironment() []string {
	return append(os.Environ(), "OMP_WAIT_POLICY=PASSIVE", "TF_CPP_MIN_LOG_LEVEL=3", "TF_ENABLE_ONEDNN_OPTS=0", "CUDA_VISIBLE_DEVICES=", "PYTHONDONTWRITEBYTECODE=1")
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
