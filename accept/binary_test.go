package accept

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// long reports whether complete runs are requested; it skips the test if no acceptance tests are.
func long(t *testing.T) bool {
	t.Helper()
	switch os.Getenv("GOESTIMATOR_ACCEPT") {
	case "1":
		return true
	case "short":
		return false
	}
	t.Skip("skipped: set GOESTIMATOR_ACCEPT=1 (whole) or short")
	return false
}

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.RemoveProgram()
	os.Exit(code)
}

// command prepares a run of goestimator.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = testkit.Root()
	return cmd
}

// outcome is the JSON object that `--json` prints.
type outcome struct {
	GlobalStep int64              `json:"global_step"`
	Metrics    map[string]float64 `json:"metrics"`
	StopReason string             `json:"stop_reason"`
}

// train runs `train --json` to its end.
func train(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := command(t, append([]string{"train", "--json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("goestimator train %s: %v\n%s", strings.Join(args, " "), err, tail(stderr.String()))
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var o outcome
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil {
		t.Fatalf("last line of standard output: %v: %q", err, lines[len(lines)-1])
	}
	return o
}

// tail returns the last lines of an output; for a crash of Go's runtime, also the line with the reason.
func tail(s string) string {
	lines := strings.Split(s, "\n")
	end := lines[max(0, len(lines)-15):]
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "fatal error:") || strings.HasPrefix(l, "panic:") }); i >= 0 {
		end = slices.Concat(lines[max(0, i-1):min(i+30, len(lines))], end)
	}
	return strings.Join(end, "\n")
}
