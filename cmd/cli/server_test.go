package cli

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseClusterSpec(t *testing.T) {
	for text, want := range map[string]map[string][]string{
		"worker|a:1;b:2,ps|c:3":                {"worker": {"a:1", "b:2"}, "ps": {"c:3"}},
		"ps|[::1]:2222,chief|10.0.0.1:1":       {"ps": {"[::1]:2222"}, "chief": {"10.0.0.1:1"}},
		"master|m-0.ns.svc:2222,evaluator|e:1": {"master": {"m-0.ns.svc:2222"}, "evaluator": {"e:1"}},
	} {
		got, err := parseClusterSpec(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{
		"", "ps", "ps|", "ps|a", "ps|a:", "ps|:1", "ps|a:0", "ps|a:65536", "ps|a:x", "ps|a:1;", "ps|a:1,", "ps|a:1;a:1",
		"ps|a:1,ps|b:1", "my-job|a:1", "ps|a:1,worker|a:1", "ps|a b:1", "ps|a:+1", "|a:1",
	} {
		if got, err := parseClusterSpec(text); err == nil {
			t.Errorf("%q was taken as %v", text, got)
		}
	}
}

func FuzzParseClusterSpec(f *testing.F) {
	for _, text := range []string{"worker|a:1;b:2,ps|c:3", "ps|[::1]:22", "ps|", "|,;:", "chief|a:1,chief|b:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := parseClusterSpec(text)
		if err != nil {
			return
		}
		var parts []string
		for _, job := range slices.Sorted(maps.Keys(jobs)) {
			parts = append(parts, job+"|"+strings.Join(jobs[job], ";"))
		}
		again, err := parseClusterSpec(strings.Join(parts, ","))
		if diff := cmp.Diff(jobs, again); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	})
}

// served runs the command and returns the task that it would serve.
func served(t *testing.T, args ...string) (task serverTask, err error) {
	t.Helper()
	cmd := (&app{name: "goestimator"}).serverCommand(func(_ context.Context, s serverTask, _ *slog.Logger) error {
		task = s
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err = cmd.ExecuteContext(t.Context())
	return task, err
}

func TestServer(t *testing.T) {
	t.Setenv("TF_CONFIG", `{"cluster": {"chief": ["other:1"]}, "task": {"type": "chief", "index": 0}}`)
	task, err := served(t, "--cluster-spec", "chief|a:1,worker|b:1,ps|c:1;d:1", "--job-name", "ps", "--task-index", "1", "--set", "rpc.peer_timeout_secs=7")
	if err != nil {
		t.Fatal(err)
	}
	rc := task.trains
	if got := rc.ClusterSpec().String(); got != "chief|0=a:1,ps|0=c:1;1=d:1,worker|0=b:1" || rc.TaskType() != "ps" || rc.TaskID() != 1 {
		t.Errorf("%s %d of %s", rc.TaskType(), rc.TaskID(), got)
	}
	if got := rc.Connections().PeerTimeoutSecs; got != 7 {
		t.Errorf("rpc.peer_timeout_secs is %v", got)
	}
}

// TestServerOfOtherJobs: a task that is no parameter server for this project's jobs needs no config.
func TestServerOfOtherJobs(t *testing.T) {
	for _, c := range []struct {
		job   string
		index int
		args  []string
	}{
		{"worker", 1, []string{"--cluster_spec=worker|a:1;b:1,ps|c:1", "--job_name=worker", "--task_id=1"}},
		{"worker", 0, []string{"--cluster-spec=worker|a:1;b:1,ps|c:1", "--job-name", "worker"}},
		{"local", 0, []string{"--cluster-spec", "local|localhost:2222", "--job-name=local"}},
		{"ps", 1, []string{"--cluster-spec", "ps|a:1;b:1", "--task-index=1"}},
		{"ps", 0, []string{"--cluster-spec", "my_job|a:1,worker|b:1,ps|c:1"}},
	} {
		task, err := served(t, c.args...)
		if err != nil || task.job != c.job || task.index != c.index || task.trains != nil {
			t.Errorf("%v: %+v, %v", c.args, task, err)
		}
	}
}

func TestServerErrors(t *testing.T) {
	const cluster = "--cluster-spec=chief|a:1,ps|c:1"
	for want, args := range map[string][]string{
		"expected job|host:port": {"--cluster-spec=a:1"},
		"--job-name: Job name \"worker\" does not appear in the cluster spec": {cluster, "--job-name=worker"},
		"Task index 1 is invalid (job \"ps\" contains 1 tasks)":               {cluster, "--task-index=1"},
		"unexpected argument": {cluster, "now"},
		"rpc.security":        {cluster, "--set=rpc.security=none"},
		"--exit-when-idle":    {cluster, "--exit-when-idle=1ms"},
		"--cpu-devices":       {cluster, "--cpu-devices=0"},
		"--drain-seconds":     {cluster, "--drain-seconds=0"},
	} {
		_, err := served(t, args...)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("got %v, want a usage error that tells of %q", err, want)
		}
	}
}

// TestServerOfTFConfig: TF_CONFIG describes the cluster unless flags do, and flags take precedence. Jobs may have any names, tasks any indices.
func TestServerOfTFConfig(t *testing.T) {
	const (
		sparse = `{"cluster": {"trainer": {"3": "a:1", "7": "b:1"}, "ps": ["c:1"]}, "task": {"type": "trainer", "index": "7"}}`
		own    = `{"cluster": {"worker": {"3": "a:1"}, "ps": ["c:1", "d:1"]}, "task": {"type": "ps", "index": 1}}`
		open   = `{"cluster": {"trainer": ["a:1", "b:1"], "ps": ["c:1"]}}`
	)
	for _, c := range []struct {
		env, args, address string
		index              int
		trains             bool
	}{
		{env: sparse, address: "b:1", index: 7},
		{env: sparse, args: "--task_id=3", address: "a:1", index: 3},
		{env: sparse, args: "--job_name=ps --task_index=0", address: "c:1"},
		{env: open, args: "--job-name=ps", address: "c:1"},
		{env: sparse, args: "--cluster_spec=local|localhost:2222", address: "localhost:2222"},
		{env: "not JSON", args: "--cluster_spec=my_job|a:1", address: "a:1"},
		{env: own, address: "d:1", index: 1, trains: true},
	} {
		t.Setenv("TF_CONFIG", c.env)
		task, err := served(t, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s %s: %v", c.env, c.args, err)
			continue
		}
		address, _ := task.cluster.Address(task.job, task.index)
		if address != c.address || task.index != c.index || (task.trains != nil) != c.trains {
			t.Errorf("%s %s: task %d of %s at %s, trains %v", c.env, c.args, task.index, task.job, address, task.trains != nil)
		}
		if c.trains && task.trains.TaskID() != c.index {
			t.Errorf("%s: the configuration is of task %d", c.env, task.trains.TaskID())
		}
	}
	for want, c := range map[string]struct{ env, args string }{
		"--cluster-spec is not set":                       {},
		"must specify an explicit --job-name":             {env: open},
		"must specify an explicit --task-index":           {env: open, args: "--job-name=trainer"},
		`Job name "x" does not appear in the cluster of`:  {env: open, args: "--job-name=x"},
		`Task index 1 is invalid (job "trainer" contains`: {env: sparse, args: "--task_id=1"},
		"expected one JSON object":                        {env: "not JSON"},
	} {
		t.Setenv("TF_CONFIG", c.env)
		if _, err := served(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%s %s: got %v, expected a usage error with %q", c.env, c.args, err, want)
		}
	}
}
