package accept

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
)

// exporting sets exporters for the end of training and for the best evaluation.
const exporting = "eval.exporters=[{name: last, kind: final}, {name: best, kind: best}]"

// exportsOf returns the number of versions of an exporter, which must all be complete.
func exportsOf(t *testing.T, dir, exporter string) int {
	t.Helper()
	versions, err := filepath.Glob(filepath.Join(dir, "export", exporter, "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if out := must(t, "inspect", "savedmodel", v); !strings.Contains(out, "serving_default") {
			t.Errorf("%s: %s", v, out)
		}
	}
	return len(versions)
}

// TestClusterExports launches a cluster with an evaluator. Each exporter exports once at the end, and only the evaluator exports.
func TestClusterExports(t *testing.T) {
	strategies := map[string][]string{"all_reduce": allReduce}
	if thorough(t) {
		strategies["asynchronous"], strategies["synchronous"] = asynchronous, synchronous
	}
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "model")
			path, err := testkit.Program()
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"launch", "--chief", "1", "--workers", "1", "--evaluator", "1", "--cores-per-task", "1"}
			if name != "all_reduce" {
				args = append(args, "--ps", "1")
			}
			args = append(append(args, "--", path, "train", "--config", "accept/testdata/cluster.yaml"),
				set(strategy, "model_dir="+dir, "train.max_steps=400", "run.evaluator_wait_secs=60", exporting)...)
			cmd := command(t, args...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("launch: %v\n%s", err, tail(string(out)))
			}
			if n := exportsOf(t, dir, "last"); n != 1 {
				t.Errorf("%d exports at the end, expected 1", n)
			}
			best := exportsOf(t, dir, "best")
			if best == 0 {
				t.Error("no export of the best evaluation")
			}
			lines := regexp.MustCompile(`(?m)^.*export=.*$`).FindAllString(string(out), -1)
			for _, line := range lines {
				if !strings.Contains(line, "evaluator") {
					t.Errorf("somebody else exports: %s", line)
				}
			}
			if len(lines) < 1+best {
				t.Errorf("%d lines report exports, expected %d or more:\n%s", len(lines), 1+best, tail(string(out)))
			}
		})
	}
}

// TestClusterExporterKilled kills the evaluator between the last evaluation and its export. The chief waits; the
// restarted evaluator exports, and all tasks end with 0.
func TestClusterExporterKilled(t *testing.T) {
	points := []string{"bundle/data-created"}
	if thorough(t) {
		points = append(points, "bundle/index-renamed", "bundle/dir-synced")
	}
	for _, point := range points {
		t.Run(strings.ReplaceAll(point, "/", "_"), func(t *testing.T) {
			r := newRig(t, "chief-0 worker-0 evaluator-0", set(allReduce, "train.max_steps=400", "run.evaluator_wait_secs=80",
				"eval.exporters=[{name: last, kind: final}]")...)
			r.tasks["evaluator-0"].env = []string{"GOESTIMATOR_FAILPOINTS=" + point + "=kill"}
			r.start()
			r.exit("evaluator-0", 137)
			if n := exportsOf(t, r.dir, "last"); n != 0 {
				t.Errorf("%d exports after a crash in the first one", n)
			}
			r.exit("worker-0", 0)
			r.running("chief-0")
			r.tasks["evaluator-0"].env = nil
			r.start("evaluator-0")
			r.exit("evaluator-0", 0)
			took := r.exitWithin("chief-0", 0, 10*time.Second)
			t.Logf("the chief ends %v after the evaluator", took)
			if n := exportsOf(t, r.dir, "last"); n != 1 {
				t.Errorf("%d exports, expected 1", n)
			}
		})
	}
}

// TestClusterExportsAreServed has a server follow an exporter of a cluster: after the first export it always answers, with the newest version.
func TestClusterExportsAreServed(t *testing.T) {
	steps := "train.max_steps=600"
	if thorough(t) {
		steps = "train.max_steps=6000"
	}
	r := newRig(t, "chief-0 worker-0 evaluator-0", set(allReduce, steps, "run.save_checkpoints_steps=100",
		"eval.exporters=[{name: latest, kind: latest, exports_to_keep: 2}]")...)
	s := launch(t, "--port", "0", "--rest-port", "0", "--startup-wait-seconds", "80", "--model", "m="+filepath.Join(r.dir, "export", "latest"))
	r.start()
	s.ready()
	instance := map[string]any{"instances": []any{image(0.25)}}
	answers := 0
	for done := false; !done; {
		select {
		case <-r.tasks["evaluator-0"].p.Done():
			done = true
		default:
		}
		s.answer("/v1/models/m:predict", instance, "predictions")
		answers++
	}
	for _, name := range []string{"chief-0", "worker-0", "evaluator-0"} {
		r.exit(name, 0)
	}
	// A short training run may end between two checks of the evaluator.
	if n := exportsOf(t, r.dir, "latest"); n > 2 || n < 1 || thorough(t) && n < 2 {
		t.Errorf("%d exports are kept, expected 2", n)
	}
	if log := s.log.String(); strings.Contains(log, "failed") {
		t.Error("the server found a version that cannot be loaded")
	} else {
		t.Logf("%d answers from %d versions", answers, strings.Count(log, "available model=m"))
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM, expected 0", code)
	}
}

// image returns a picture of one shade of grey in the form of the job's input.
func image(grey float64) any {
	rows := make([]any, 28)
	for i := range rows {
		row := make([]any, 28)
		for j := range row {
			row[j] = []any{grey}
		}
		rows[i] = row
	}
	return rows
}
