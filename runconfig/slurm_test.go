package runconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slurmJob is a step of 6 tasks on 3 nodes.
func slurmJob(changes ...string) func(string) string {
	env := map[string]string{
		"SLURM_PROCID": "0", "SLURM_NTASKS": "6", "SLURM_JOB_NODELIST": "a[08-09],gpu", "SLURM_STEP_TASKS_PER_NODE": "3,2,1",
		"GOESTIMATOR_SLURM_JOBS": "chief=1,worker=2,ps=2,evaluator=1",
	}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func TestSlurmTFConfig(t *testing.T) {
	const cluster = `{"cluster":{"chief":["a08:8888"],"evaluator":["a08:8889"],"ps":["a08:8890","a09:8888"],"worker":["a09:8889","gpu:8888"]},"task":{"type":%q,"index":%d},"environment":"cloud"}`
	for rank, want := range []string{
		fmt.Sprintf(cluster, "chief", 0), fmt.Sprintf(cluster, "evaluator", 0), fmt.Sprintf(cluster, "ps", 0),
		fmt.Sprintf(cluster, "ps", 1), fmt.Sprintf(cluster, "worker", 0), fmt.Sprintf(cluster, "worker", 1),
	} {
		got, err := SlurmTFConfig(slurmJob(fmt.Sprintf("SLURM_PROCID=%d", rank)))
		if err != nil || got != want {
			t.Errorf("rank %d:\n got %s, %v\nwant %s", rank, got, err, want)
		}
		rc, err := FromTFConfig(got)
		if err != nil || rc.ClusterSpec().Len() == 0 && rc.TaskType() != Evaluator {
			t.Errorf("rank %d: %v, %v", rank, rc.ClusterSpec(), err)
		}
	}
}

func TestSlurmVariables(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		want    string
	}{
		"step wins over job": {
			[]string{"SLURM_STEP_NODELIST=b[1-2]", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_TASKS_PER_NODE=1(x2)", "GOESTIMATOR_SLURM_JOBS=worker=2"},
			`{"cluster":{"worker":["b1:8888","b2:8888"]},"task":{"type":"worker","index":0},"environment":"cloud"}`,
		},
		"port base": {
			[]string{"SLURM_NTASKS=2", "SLURM_JOB_NODELIST=b", "SLURM_STEP_TASKS_PER_NODE=2", "GOESTIMATOR_SLURM_JOBS=worker=1,ps=1,evaluator=0", "GOESTIMATOR_SLURM_PORT_BASE=12000"},
			`{"cluster":{"ps":["b:12000"],"worker":["b:12001"]},"task":{"type":"ps","index":0},"environment":"cloud"}`,
		},
		"one task": {
			[]string{"SLURM_NTASKS=1", "SLURM_JOB_NODELIST=b", "SLURM_STEP_TASKS_PER_NODE=1", "GOESTIMATOR_SLURM_JOBS=worker=1"}, "",
		},
	} {
		if got, err := SlurmTFConfig(slurmJob(c.changes...)); err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, err, c.want)
		}
	}
}

func TestSlurmErrors(t *testing.T) {
	for want, changes := range map[string][]string{
		"SLURM_PROCID is not set":                   {"SLURM_PROCID="},
		"SLURM_NTASKS: got \"six\"":                 {"SLURM_NTASKS=six"},
		"SLURM_JOB_NODELIST: host list":             {"SLURM_JOB_NODELIST=a[1"},
		"SLURM_TASKS_PER_NODE is not set":           {"SLURM_STEP_TASKS_PER_NODE="},
		"SLURM_STEP_TASKS_PER_NODE: tasks per":      {"SLURM_STEP_TASKS_PER_NODE=2(y)"},
		"GOESTIMATOR_SLURM_JOBS is not set":         {"GOESTIMATOR_SLURM_JOBS="},
		"got job \"cheif\"":                         {"GOESTIMATOR_SLURM_JOBS=cheif=1"},
		"listed twice":                              {"GOESTIMATOR_SLURM_JOBS=ps=1,ps=1"},
		"has 1 tasks, but the step has 6":           {"GOESTIMATOR_SLURM_JOBS=worker=1"},
		"less than the 6 tasks":                     {"SLURM_PROCID=6"},
		"has 1 nodes, but tasks per node":           {"SLURM_JOB_NODELIST=a"},
		"the nodes have 5 tasks":                    {"SLURM_STEP_TASKS_PER_NODE=3,1,1"},
		"expected 1 to 65535":                       {"GOESTIMATOR_SLURM_PORT_BASE=65534"},
		"start the tasks in blocks":                 {"SLURM_NODEID=1"},
		"GOESTIMATOR_SLURM_PORT_BASE: got \"high\"": {"GOESTIMATOR_SLURM_PORT_BASE=high"},
	} {
		if _, err := SlurmTFConfig(slurmJob(changes...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that tells of %q", err, want)
		}
	}
}

func TestExpandHosts(t *testing.T) {
	for list, want := range map[string]string{
		"a":                  "a",
		"a[1-3,5],b07":       "a1 a2 a3 a5 b07",
		"n[001-003]":         "n001 n002 n003",
		"n[8-11]":            "n8 n9 n10 n11",
		"n[08-11].x":         "n08.x n09.x n10.x n11.x",
		"r[0-1]n[1-2],z":     "r0n1 r0n2 r1n1 r1n2 z",
		"a-b[1],c.d-e[7-7]f": "a-b1 c.d-e7f",
	} {
		got, err := expandHosts(list)
		if diff := cmp.Diff(strings.Fields(want), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", list, err, diff)
		}
	}
	for _, list := range []string{"", ",", "a,", "a[", "a]", "a[[1]]", "a[]", "a[1-]", "a[3-1]", "a[x]", "a[1,]", "a[0-9999999]", "a[0-999]b[0-999]"} {
		if got, err := expandHosts(list); err == nil {
			t.Errorf("%q was taken as %d hosts", list, len(got))
		}
	}
}

func TestExpandTasksPerNode(t *testing.T) {
	got, err := expandTasksPerNode("2(x3),1")
	if diff := cmp.Diff([]int{2, 2, 2, 1}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, list := range []string{"", "x", "2(x3", "2(x)", "2(x0)", "2x3", "-1", "1,", "1(x99999999)"} {
		if got, err := expandTasksPerNode(list); err == nil {
			t.Errorf("%q was taken as %v", list, got)
		}
	}
}

func FuzzExpandHosts(f *testing.F) {
	for _, list := range []string{"a[1-3,5],b07", "r[0-1]n[001-002]", "a[", "]", "a[0-99999]", ""} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := expandHosts(list)
		if err != nil {
			return
		}
		if len(hosts) == 0 || len(hosts) > maxSlurmTasks {
			t.Errorf("%d hosts", len(hosts))
		}
		again, err := expandHosts(strings.Join(hosts, ","))
		if diff := cmp.Diff(hosts, again); err != nil || diff != "" {
			t.Errorf("expanded twice: %v\n%s", err, diff)
		}
	})
}

func FuzzExpandTasksPerNode(f *testing.F) {
	for _, list := range []string{"2(x3),1", "1", "2(x", "(x3)", "1(x0)"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		counts, err := expandTasksPerNode(list)
		if err == nil && (len(counts) == 0 || len(counts) > maxSlurmTasks) {
			t.Errorf("%d nodes", len(counts))
		}
	})
}

func FuzzSlurmJobs(f *testing.F) {
	f.Add("chief=1,worker=3,ps=2")
	f.Add("worker")
	f.Add("=,=")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := parseSlurmJobs(text)
		for job, n := range jobs {
			if err != nil || n < 0 || job == "" {
				t.Errorf("%q: %d tasks, %v", job, n, err)
			}
		}
	})
}

func ExampleSlurmTFConfig() {
	env := map[string]string{
		"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
		"GOESTIMATOR_SLURM_JOBS": "chief=1,worker=1",
	}
	fmt.Println(SlurmTFConfig(func(name string) string { return env[name] }))
	// Output: {"cluster":{"chief":["node1:8888"],"worker":["node2:8888"]},"task":{"type":"worker","index":0},"environment":"cloud"} <nil>
}
