// Package outside runs each program and checks its output.
package outside

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	want := map[string]string{
		"two_inputs":    "mean squared error below 0.05: true\n",
		"two_heads":     "accuracy above 0.95: true, rmse below 0.15: true\n",
		"channel_input": "rmse below 0.05: true\n",
		"own_optimizer": "accuracy above 0.9: true\n",
		"frozen_layers": "frozen layers are as before: true, accuracy above 0.9: true\n",
		"gan":           "mean and deviation are those of the data: true\n",
		"own_parts":     "explained above 0.99: true, served predictions as good: true, served metric equal: true\n",
	}
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) != len(want) {
		t.Fatalf("%d programs (%v), expected %d", len(programs), err, len(want))
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./...").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for name, out := range want {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name))
			cmd.Env = append(os.Environ(), "TMPDIR="+bin)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			got, err := cmd.Output()
			if err != nil || !strings.HasSuffix(string(got), out) {
				t.Errorf("printed %q (%v), expected %q\n%s", got, err, out, stderr.String())
			}
		})
	}
}
