package accept

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// soakTime is how long each soak test disturbs its job: the duration in GOESTIMATOR_SOAK, or a minute.
func soakTime(t *testing.T) time.Duration {
	text := os.Getenv("GOESTIMATOR_SOAK")
	if text == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("GOESTIMATOR_SOAK: %v", err)
	}
	return d
}

// soak is a job whose tasks are killed at random and restarted like TFJob
// under the policy ExitCode.
type soak struct {
	*rig
	random  *rand.Rand
	victims []string
	kills   map[string]int
	ends    map[string]int // number of tasks that ended by themselves, by exit code
	newest  int64          // step of the newest checkpoint so far
	usage   map[string][]usage
}

// usage is the resource usage of a process.
type usage struct{ pid, files, threads, kilobytes int }

// TestClusterSoak kills random tasks of a job for a while. Then the job,
// started once more, must finish. No checkpoint
// may be lost, and a process that was never killed must not have grown.
func TestClusterSoak(t *testing.T) {
	cases := []struct {
		name, tasks string
		victims     []string
		spared      []string
		args        []string
	}{
		{"asynchronous", "chief-0 worker-0 worker-1 ps-0 ps-1 evaluator-0", []string{"chief-0", "worker-0", "ps-0"}, []string{"worker-1", "ps-1", "evaluator-0"}, asynchronous},
		{"synchronous", "chief-0 worker-0 worker-1 ps-0 ps-1", []string{"chief-0", "worker-0", "ps-1"}, []string{"worker-1", "ps-0"}, synchronous},
		{"all_reduce", "chief-0 worker-0 worker-1 evaluator-0", []string{"chief-0", "worker-0"}, []string{"worker-1", "evaluator-0"}, allReduce},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			whole(t)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			r := newRig(t, c.tasks, set(c.args, "train.max_steps=1000000000", "run.log_step_count_steps=500")...)
			s := &soak{rig: r, random: rand.New(rand.NewPCG(seed, 0)), victims: c.victims, kills: map[string]int{}, ends: map[string]int{}, usage: map[string][]usage{}}
			r.start()
			r.awaitCheckpoint(200)
			s.disturb(soakTime(t))
			t.Logf("kills %v, ends of tasks' own %v, newest checkpoint of step %d", s.kills, s.ends, s.newest)
			for _, name := range c.spared {
				s.grown(name)
			}
			s.finish()
		})
	}
}

// disturb kills and restarts tasks, and watches.
func (s *soak) disturb(length time.Duration) {
	over := time.Now().Add(length)
	kill, look := s.soon(), time.Now()
	for tick := time.NewTicker(20 * time.Millisecond); time.Now().Before(over); <-tick.C {
		s.revive()
		if time.Now().After(kill) {
			s.hurt()
			kill = s.soon()
		}
		if time.Now().After(look) {
			s.watch()
			look = time.Now().Add(time.Second)
		}
	}
}

// soon is a random time for the next fault.
func (s *soak) soon() time.Time {
	return time.Now().Add(time.Second + time.Duration(s.random.Int64N(int64(5*time.Second))))
}

// hurt kills a task or two, mostly like kill -9.
func (s *soak) hurt() {
	if s.random.IntN(4) == 0 {
		defer s.hurt()
	}
	name := s.victims[s.random.IntN(len(s.victims))]
	how := syscall.SIGKILL
	if s.random.IntN(5) == 0 {
		how = syscall.SIGTERM
	}
	if err := s.tasks[name].p.Signal(how); err == nil {
		s.kills[name+" "+how.String()]++
	}
}

// revive restarts tasks that ended with an exit code that TFJob retries.
func (s *soak) revive() {
	s.t.Helper()
	for name, x := range s.tasks {
		select {
		case <-x.p.Done():
		default:
			continue
		}
		code := x.p.ExitCode()
		if code != 137 {
			s.ends[fmt.Sprintf("%s %d", name, code)]++
		}
		if code < 128 {
			s.t.Fatalf("%s has ended with exit code %d", name, code)
		}
		s.start(name)
	}
}

// watch checks the checkpoints and records the usage of processes.
func (s *soak) watch() {
	s.t.Helper()
	c, err := checkpoint.OpenLatest(s.t.Context(), s.dir)
	if err != nil {
		s.t.Fatalf("no checkpoint loads: %v", err)
	}
	step := c.Step()
	c.Close()
	if step < s.newest {
		s.t.Fatalf("the newest checkpoint is of step %d, there was one of step %d", step, s.newest)
	}
	s.newest = step
	s.clean()
	for name, x := range s.tasks {
		if u, err := usageOf(x.p.PID()); err == nil {
			s.usage[name] = append(s.usage[name], u)
		}
	}
}

// usageOf reads the system's statistics of a process.
func usageOf(pid int) (u usage, err error) {
	u.pid = pid
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return u, err
	}
	u.files = len(files)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 {
			switch f[0] {
			case "VmRSS:":
				u.kilobytes, _ = strconv.Atoi(f[1])
			case "Threads:":
				u.threads, _ = strconv.Atoi(f[1])
			}
		}
	}
	return u, nil
}

// grown compares the early and late usage of a process that was never killed, and counts
// its goroutines by SIGQUIT, which ends it.
func (s *soak) grown(name string) {
	s.t.Helper()
	all := s.usage[name]
	all = slices.DeleteFunc(all, func(u usage) bool { return u.pid != s.tasks[name].p.PID() })
	if len(all) < 10 {
		s.t.Logf("%s: too few samples", name)
		return
	}
	early, late := middle(all[len(all)/5:len(all)*2/5]), middle(all[len(all)*4/5:])
	at := s.at(name)
	s.signal(syscall.SIGQUIT, name)
	<-s.tasks[name].p.Done()
	text, _ := s.tasks[name].text()
	goroutines := goroutine.FindAllString(text[at:], -1)
	s.t.Logf("%s: files %d, then %d; threads %d, then %d; memory %d KiB, then %d; %d goroutines in the end",
		name, early.files, late.files, early.threads, late.threads, early.kilobytes, late.kilobytes, len(goroutines))
	if late.files > early.files+10 || late.threads > early.threads+10 || late.kilobytes > early.kilobytes*3/2+32<<10 {
		s.t.Errorf("%s has grown", name)
	}
	if len(goroutines) > 150 {
		s.t.Errorf("%s has %d goroutines", name, len(goroutines))
	}
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)

// middle is the median of each number.
func middle(all []usage) usage {
	of := func(f func(usage) int) int {
		var out []int
		for _, u := range all {
			out = append(out, f(u))
		}
		slices.Sort(out)
		return out[len(out)/2]
	}
	return usage{files: of(func(u usage) int { return u.files }), threads: of(func(u usage) int { return u.threads }), kilobytes: of(func(u usage) int { return u.kilobytes })}
}

// finish terminates all tasks like an operator that deletes the job, then restarts them until the job is done.
func (s *soak) finish() {
	s.t.Helper()
	for _, x := range s.tasks {
		_ = x.p.Signal(syscall.SIGTERM) // it may have ended already
	}
	for name, x := range s.tasks {
		select {
		case <-x.p.Done():
		case <-time.After(patience):
			s.t.Fatalf("%s does not end", name)
		}
	}
	saved := s.latest()
	if saved < s.newest {
		s.t.Errorf("the newest checkpoint is of step %d, there was one of step %d", saved, s.newest)
	}
	s.args = set(s.args, fmt.Sprintf("train.max_steps=%d", saved+300))
	s.start()
	for name := range s.tasks {
		s.exit(name, 0)
	}
	s.ended("chief-0", saved+300, saved+302)
	left, err := filepath.Glob(filepath.Join(s.dir, "*.tmp*"))
	if err != nil || len(left) > 0 {
		s.t.Errorf("left behind: %v %v", left, err)
	}
}
