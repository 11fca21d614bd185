//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/platform/failpoint"
)

// killedConfig is a model with two numbers as features, trained on a file in the same folder.
const killedConfig = `model_dir: run
seed: 7
model: {name: mlp, params: {classes: 2, hidden_units: [3]}}
run: {log_step_count_steps: 0, save_summary_steps: 0}
train:
  input: {format: csv, files: in/b.csv, columns: [{name: id, role: ignore}, {name: x}, {name: y, role: label, dtype: int64}], batch_size: 16}
  max_steps: 3
predict:
  input: {format: csv, files: in/*.csv, columns: [{name: id, role: ignore}, {name: x}, {name: y, role: ignore}], batch_size: 4}
  columns: [id]
  keys: [probabilities]
`

// TestPredictKilled: a process that predicts a folder is killed in the middle of a file. The same command resumes, and its outputs
// equal the outputs of an undisturbed run.
func TestPredictKilled(t *testing.T) {
	work := t.TempDir()
	if err := os.Mkdir(filepath.Join(work, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"job.yaml": killedConfig}
	for i, name := range []string{"a", "b", "c"} {
		var rows strings.Builder
		for row := range 20 + i {
			fmt.Fprintf(&rows, "%s%d,%g,%d\n", name, row, float64(row)/7, row%2)
		}
		files["in/"+name+".csv"] = rows.String()
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(points string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--config", "job.yaml")...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), asBinary+"=1", failpoint.EnvVar+"="+points)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("", "train"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, format := range []string{"csv", "jsonl", "parquet", "arrow"} {
		predict := func(dir, points string) (string, error) {
			return run(points, "predict", "--input", "in/*.csv", "--output", dir+"/*."+format)
		}
		if out, err := predict("calm-"+format, ""); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := predict("cut-"+format, "cli/row-predicted=kill@31") // in the middle of the second file
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: got %v, expected a process that is killed\n%s", format, err, out)
		}
		if left := folderFiles(t, filepath.Join(work, "cut-"+format)); len(left) != 2 || left["a."+format] == "" {
			t.Fatalf("%s: %d files are left, expected one that is whole and one that is not", format, len(left))
		}
		if out, err := predict("cut-"+format, ""); err != nil || !strings.Contains(out, "files=1") || !strings.Contains(out, "predictions=43") {
			t.Fatalf("%s: %v\n%s", format, err, out)
		}
		if diff := cmp.Diff(folderFiles(t, filepath.Join(work, "calm-"+format)), folderFiles(t, filepath.Join(work, "cut-"+format))); diff != "" {
			t.Errorf("%s: an undisturbed run has other files:\n%s", format, diff)
		}
	}
}
