package interop_test

import (
	"context"
	"encoding/json"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestClusterOfServers: Python's sessions give the same on TensorFlow's servers, on ours, and on clusters of both.
func TestClusterOfServers(t *testing.T) {
	p := peers(t)
	tasks := []string{"worker/0", "ps/0", "ps/1"}
	var want string
	for _, c := range []struct{ name, ours string }{
		{"TensorFlow's servers", ""}, {"our servers", "worker/0,ps/0,ps/1"}, {"our parameter servers", "ps/0,ps/1"}, {"our master", "worker/0,ps/1"},
	} {
		ports, err := freeport.Reserve(len(tasks))
		if err != nil {
			t.Fatal(err)
		}
		cluster := map[string][]string{"worker": {ports.Address(0)}, "ps": {ports.Address(1), ports.Address(2)}}
		var theirs []string
		var ours []func()
		for _, task := range tasks {
			if strings.Contains(c.ours, task) {
				ours = append(ours, startServer(t, cluster, task))
			} else {
				theirs = append(theirs, task)
			}
		}
		text, err := json.Marshal(cluster)
		if err != nil {
			t.Fatal(err)
		}
		got := p.run(t, "cluster_sessions.py", string(text), strings.Join(theirs, ","))
		for _, stop := range ours {
			stop()
		}
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "branch") {
			t.Errorf("%s: got\n%s\nTensorFlow's servers gave\n%s", c.name, got, want)
		}
	}
}

// startServer starts a task as `goestimator server`, and returns what ends it.
func startServer(t *testing.T, cluster map[string][]string, task string, flags ...string) (stop func()) {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	job, index, _ := strings.Cut(task, "/")
	if _, err := strconv.Atoi(index); err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.Background())
	spec := "worker|" + cluster["worker"][0] + ",ps|" + strings.Join(cluster["ps"], ";")
	cmd := exec.CommandContext(ctx, path, append([]string{"server", "--cluster_spec", spec, "--job_name", job, "--task_id", index}, flags...)...)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		kill()
		t.Fatal(err)
	}
	return func() {
		defer kill()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
			t.Errorf("%s ended with %v, expected exit code 143\n%s", task, err, log.String())
		}
	}
}

// TestClusterTraining: Python's optimizers give the same losses on our servers as on TensorFlow's, and go on from checkpoints that they wrote.
func TestClusterTraining(t *testing.T) {
	p := peers(t)
	tasks := []string{"worker/0", "ps/0", "ps/1"}
	var want map[string][]float64
	for _, theirs := range []string{"worker/0,ps/0,ps/1", ""} {
		ports, err := freeport.Reserve(len(tasks))
		if err != nil {
			t.Fatal(err)
		}
		cluster := map[string][]string{"worker": {ports.Address(0)}, "ps": {ports.Address(1), ports.Address(2)}}
		folder := t.TempDir()
		var stops []func()
		for _, task := range tasks {
			if theirs == "" {
				stops = append(stops, startServer(t, cluster, task, "--allow-path", folder))
			}
		}
		text, err := json.Marshal(cluster)
		if err != nil {
			t.Fatal(err)
		}
		out := p.run(t, "cluster_training.py", string(text), theirs, folder)
		for _, stop := range stops {
			stop()
		}
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
		var got map[string][]float64
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if want == nil {
			want = got
			continue
		}
		for name, losses := range want {
			if !slices.EqualFunc(losses, got[name], func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a)) }) {
				t.Errorf("%s: got %v, TensorFlow's servers gave %v", name, got[name], losses)
			}
		}
	}
	if len(want["adam True 1"]) != 4 || want["step of adam True 1"][0] != 8 {
		t.Errorf("TensorFlow's servers gave %v", want)
	}
}
