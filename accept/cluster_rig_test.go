package accept

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
)

// patience limits every wait in these tests, except waits with their own deadline.
const patience = 3 * time.Minute

// rig is a cluster of goestimator processes; a test starts, ends and
// disturbs them individually.
type rig struct {
	t       *testing.T
	dir     string // model_dir
	args    []string
	env     []string
	cluster map[string][]string          // TF_CONFIG's cluster: the address of each task
	through map[string]map[string]string // by caller and callee: the address of a proxy
	tasks   map[string]*task
	began   time.Time
}

// newRig makes a cluster of tasks such as "chief-0 worker-0 worker-1 ps-0". Each
// will run `train` with the job of testdata/cluster.yaml and args.
func newRig(t *testing.T, tasks string, args ...string) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "model"), args: args, cluster: map[string][]string{}, tasks: map[string]*task{}, began: time.Now(), through: map[string]map[string]string{}}
	names := strings.Fields(tasks)
	ports, err := freeport.Reserve(len(names))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	for i, name := range names {
		typ, _ := split(name)
		if typ != "evaluator" {
			r.cluster[typ] = append(r.cluster[typ], ports.Address(i))
		}
		r.tasks[name] = &task{rig: r, name: name, changed: make(chan struct{}), codes: nil}
	}
	t.Cleanup(func() {
		for _, x := range r.tasks {
			x.end()
			if t.Failed() {
				t.Logf("the last lines of %s:\n%s", x.name, tail(x.all()))
			}
		}
	})
	return r
}

// split returns the parts of a task name such as worker-1.
func split(name string) (typ string, index int) {
	typ, digits, _ := strings.Cut(name, "-")
	index, _ = strconv.Atoi(digits)
	return typ, index
}

// proxy inserts a proxy into the connections from one task to another.
func (r *rig) proxy(from, to string) *clustertest.Proxy {
	r.t.Helper()
	typ, i := split(to)
	p := clustertest.NewProxy(r.t, r.cluster[typ][i])
	if r.through[from] == nil {
		r.through[from] = map[string]string{}
	}
	r.through[from][to] = p.Addr()
	return p
}

// tfConfig is the TF_CONFIG of a task, in the form that TFJob writes.
func (r *rig) tfConfig(name string) string {
	typ, index := split(name)
	cluster := map[string]any{}
	for job, addresses := range r.cluster {
		addresses = slices.Clone(addresses)
		for i := range addresses {
			if p := r.through[name][fmt.Sprintf("%s-%d", job, i)]; p != "" {
				addresses[i] = p
			}
		}
		cluster[job] = addresses
	}
	b, err := json.Marshal(map[string]any{"cluster": cluster, "task": map[string]any{"type": typ, "index": index}, "environment": "cloud"})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// task is a task of the cluster; its process may end and be restarted.
type task struct {
	rig  *rig
	name string
	p    *proc.Process
	env  []string
	args []string
	// server, if set, makes the task a standing parameter server of a cluster.
	server string

	mu      sync.Mutex
	log     bytes.Buffer // of all its processes
	from    int          // where the log of the last process begins
	changed chan struct{}
	codes   []int
}

// Write appends output to the log.
func (x *task) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.changed)
	x.changed = make(chan struct{})
	if testing.Verbose() {
		for line := range bytes.Lines(b) {
			fmt.Fprintf(os.Stderr, "%7.2f %s: %s\n", time.Since(x.rig.began).Seconds(), x.name, bytes.TrimRight(line, "\n"))
		}
	}
	return x.log.Write(b)
}

func (x *task) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.String()
}

// text is the output of the last process, from a position on.
func (x *task) text() (string, chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.String()[x.from:], x.changed
}

// start starts tasks; without names, all tasks.
func (r *rig) start(names ...string) {
	r.t.Helper()
	if len(names) == 0 {
		for name := range r.tasks {
			names = append(names, name)
		}
	}
	path, err := testkit.Program()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		x := r.tasks[name]
		x.mu.Lock()
		x.from = x.log.Len()
		x.mu.Unlock()
		args := append([]string{path, "train", "--config", "accept/testdata/cluster.yaml", "--set", "model_dir=" + r.dir}, r.args...)
		env := append(append(os.Environ(), "TF_CONFIG="+r.tfConfig(name), "NO_COLOR=1", "GOMAXPROCS=1"), r.env...)
		if x.server != "" {
			_, i := split(name)
			args = []string{path, "server", "--cluster-spec", x.server, "--task-index", strconv.Itoa(i)}
		}
		x.p, err = proc.Start(proc.Command{Args: append(args, x.args...), Env: append(env, x.env...), Dir: testkit.Root(), Stdout: x, Stderr: x})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// end kills the running process.
func (x *task) end() {
	if x.p == nil {
		return
	}
	_ = x.p.Signal(syscall.SIGKILL) // it may have ended already
	<-x.p.Done()
}

// kill kills tasks like kill -9.
func (r *rig) kill(names ...string) {
	r.t.Helper()
	for _, name := range names {
		x := r.tasks[name]
		if err := x.p.Signal(syscall.SIGKILL); err != nil {
			r.t.Fatalf("kill %s: %v: it had ended with exit code %d", name, err, x.p.ExitCode())
		}
	}
	for _, name := range names {
		r.exit(name, 137)
	}
}

// signal sends a signal to tasks.
func (r *rig) signal(s syscall.Signal, names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := r.tasks[name].p.Signal(s); err != nil {
			r.t.Fatalf("%v to %s: %v", s, name, err)
		}
	}
}

// exit waits for a task's end, and fails if it has another exit code.
func (r *rig) exit(name string, code int) time.Duration {
	r.t.Helper()
	return r.exitWithin(name, code, patience)
}

func (r *rig) exitWithin(name string, code int, limit time.Duration) time.Duration {
	r.t.Helper()
	x := r.tasks[name]
	began := time.Now()
	select {
	case <-x.p.Done():
	case <-time.After(limit):
		r.t.Fatalf("%s has not ended after %v, expected exit code %d", name, limit, code)
	}
	if got := x.p.ExitCode(); got != code {
		r.t.Fatalf("%s: exit code %d, expected %d", name, got, code)
	}
	return time.Since(began)
}

// listening waits until a task has opened its port.
func (r *rig) listening(name string) {
	r.t.Helper()
	typ, i := split(name)
	until := time.Now().Add(patience)
	for tick := time.NewTicker(5 * time.Millisecond); time.Now().Before(until); <-tick.C {
		r.running(name)
		if c, err := net.Dial("tcp", r.cluster[typ][i]); err == nil {
			c.Close()
			return
		}
	}
	r.t.Fatalf("%s does not listen after %v", name, patience)
}

// running fails if a task has ended.
func (r *rig) running(names ...string) {
	r.t.Helper()
	for _, name := range names {
		select {
		case <-r.tasks[name].p.Done():
			r.t.Fatalf("%s has ended with exit code %d", name, r.tasks[name].p.ExitCode())
		default:
		}
	}
}

// await waits until the running process of a task has written a match, and returns it.
func (r *rig) await(name, pattern string) []string {
	r.t.Helper()
	return r.awaitFrom(name, 0, patience, pattern)
}

func (r *rig) awaitFrom(name string, from int, limit time.Duration, pattern string) []string {
	r.t.Helper()
	x := r.tasks[name]
	re := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	for ended := false; ; {
		text, changed := x.text()
		if m := re.FindStringSubmatch(text[from:]); m != nil {
			return m
		}
		if ended {
			r.t.Fatalf("%s has ended with exit code %d before it wrote %s", name, x.p.ExitCode(), pattern)
		}
		select {
		case <-changed:
		case <-x.p.Done():
			ended = true // check the output once more
		case <-ctx.Done():
			r.t.Fatalf("%s has not written %s within %v", name, pattern, limit)
		}
	}
}

// at is the current length of the running process's output.
func (r *rig) at(name string) int {
	text, _ := r.tasks[name].text()
	return len(text)
}

// step is the last step that the task reported.
func (r *rig) step(name string) int64 {
	text, _ := r.tasks[name].text()
	all := stepLine.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(all[len(all)-1][1], 10, 64)
	return n
}

var stepLine = regexp.MustCompile(`(?m)^step=(\d+) `)

// reach waits until a task reports step n or a later one.
func (r *rig) reach(name string, n int64) int64 {
	r.t.Helper()
	x := r.tasks[name]
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		_, changed := x.text()
		if s := r.step(name); s >= n {
			return s
		}
		select {
		case <-changed:
		case <-x.p.Done():
			if s := r.step(name); s >= n {
				return s
			}
			r.t.Fatalf("%s has ended with exit code %d at step %d, expected to reach %d", name, x.p.ExitCode(), r.step(name), n)
		case <-ctx.Done():
			r.t.Fatalf("%s is at step %d after %v, expected to reach %d", name, r.step(name), patience, n)
		}
	}
}

// finished is the global step that the task reported when it ended.
func (r *rig) finished(name string) int64 {
	r.t.Helper()
	n, err := strconv.ParseInt(r.await(name, `(?m)^global_step=(\d+)`)[1], 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// latest is the step of the newest checkpoint, which must be complete; 0 if there is none.
func (r *rig) latest() int64 {
	r.t.Helper()
	c, err := checkpoint.OpenLatest(r.t.Context(), r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	return c.Step()
}

// awaitCheckpoint waits for a checkpoint of step n or later.
func (r *rig) awaitCheckpoint(n int64) int64 {
	r.t.Helper()
	until := time.Now().Add(patience)
	for tick := time.NewTicker(20 * time.Millisecond); time.Now().Before(until); <-tick.C {
		if prefix, err := checkpoint.LatestPrefix(r.dir); err == nil {
			if step, _ := checkpoint.StepOf(prefix); step >= n {
				return step
			}
		}
	}
	r.t.Fatalf("there is no checkpoint of a step from %d on after %v", n, patience)
	return 0
}

// clean fails if the folder has quarantined or unfinished checkpoints.
func (r *rig) clean() {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".broken") {
			r.t.Errorf("model_dir has %s", e.Name())
		}
	}
}
