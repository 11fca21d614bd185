package interop_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/testkit"
)

// testCluster is a cluster of server processes on this machine: ours or TensorFlow's.
type testCluster struct {
	addresses map[string][]string // by job
	folder    string              // where our servers may read and write files, and scripts too
	flags     []string            // of our servers
	ours      map[string]bool     // tasks such as "ps/0"
	servers   map[string]taskProcess
}

// taskProcess is a server.
type taskProcess interface {
	kill()                // like kill -9
	terminate(*testing.T) // like a scheduler
	stacks() string       // its log and the stacks of its threads; it may end the process
}

// newCluster starts a server for each task; jobs has the number of tasks of each job. ours lists jobs or tasks, such as "worker ps/1",
// that run our server. Programs of the jobs in own start TensorFlow's server themselves, so newCluster starts none for these unless it is ours.
// The servers are stopped at the end of the test.
func newCluster(t *testing.T, jobs map[string]int, ours, own string, flags ...string) *testCluster {
	t.Helper()
	c := &testCluster{addresses: map[string][]string{}, folder: t.TempDir(), ours: map[string]bool{}, servers: map[string]taskProcess{}}
	c.flags = append([]string{"--allow-path", c.folder}, flags...)
	total := 0
	for _, n := range jobs {
		total += n
	}
	ports, err := freeport.Reserve(total)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.stop(t)
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
	})
	next := 0
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		for i := range jobs[job] {
			c.addresses[job] = append(c.addresses[job], ports.Address(next))
			next++
			if fields := strings.Fields(ours); slices.Contains(fields, job) || slices.Contains(fields, job+"/"+strconv.Itoa(i)) {
				c.ours[job+"/"+strconv.Itoa(i)] = true
			}
		}
	}
	for job, addresses := range c.addresses {
		for i := range addresses {
			if task := job + "/" + strconv.Itoa(i); c.ours[task] || !slices.Contains(strings.Fields(own), job) {
				c.start(t, task)
			}
		}
	}
	return c
}

// script starts a script that uses the cluster, with additional environment variables.
func (c *testCluster) script(t *testing.T, env map[string]string, script string, args ...string) *pythonScript {
	t.Helper()
	s := host(t).start(t, env, script, args...)
	s.cluster = c
	return s
}

// json is the jobs and addresses in the form that scripts take.
func (c *testCluster) json(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(c.addresses)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// start starts the server of a task, for the first time or after kill.
func (c *testCluster) start(t *testing.T, task string) {
	t.Helper()
	job, index, _ := strings.Cut(task, "/")
	if !c.ours[task] {
		args := []string{c.json(t), job, index}
		for _, flag := range c.flags {
			if n, ok := strings.CutPrefix(flag, "--cpu-devices="); ok {
				args = append(args, n)
			}
		}
		c.servers[task] = theirs{host(t).start(t, nil, "cluster_server.py", args...)}
		return
	}
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	var spec []string
	for _, job := range slices.Sorted(maps.Keys(c.addresses)) {
		spec = append(spec, job+"|"+strings.Join(c.addresses[job], ";"))
	}
	s := &ourServer{task: task}
	s.cmd = exec.Command(path, append([]string{"server", "--cluster_spec", strings.Join(spec, ","), "--job_name", job, "--task_id", index}, c.flags...)...)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.servers[task] = s
}

// kill kills a server like kill -9.
func (c *testCluster) kill(task string) {
	c.servers[task].kill()
	delete(c.servers, task)
}

// stop ends all servers.
func (c *testCluster) stop(t *testing.T) {
	t.Helper()
	for _, s := range c.servers {
		s.terminate(t)
	}
	clear(c.servers)
}

// theirs is TensorFlow's server.
type theirs struct{ *pythonScript }

func (s theirs) terminate(*testing.T) { s.kill() }

// ourServer is a process of `goestimator server`.
type ourServer struct {
	task string
	cmd  *exec.Cmd
	log  strings.Builder
}

func (s *ourServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *ourServer) terminate(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	err := s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 && code != 143 { // 143: parameter servers for this project's jobs
		t.Errorf("%s ended with %v, expected exit code 0 or 143\n%s", s.task, err, tail(s.log.String(), 4000))
	}
	if t.Failed() {
		t.Logf("log of %s:\n%s", s.task, tail(s.log.String(), 4000))
	}
}
