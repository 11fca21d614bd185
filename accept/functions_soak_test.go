package accept

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/tensor"
)

// functionsSoak schedules functions from the test process, which is the chief, and kills workers.
type functionsSoak struct {
	*rig
	*ledger
	random  *rand.Rand
	c       *distribute.Coordinator
	ones    *distribute.PerWorker
	next    int64      // the argument of the next function
	exact   [][2]int64 // arguments, from and to, of functions during which no worker was killed
	kills   map[string]int
	rounds  int
	chief   []footprint
	servers map[string][]usage
}

// footprint is what the chief uses when nothing is pending.
type footprint struct{ goroutines, kilobytes int }

// TestFunctionsSoak kills workers at random, during and between functions, for the
// duration GOESTIMATOR_SOAK. Each function must have its result, and must be counted
// on the parameter servers once or more, exactly once if no worker was killed
// meanwhile. Neither the chief nor the servers may grow.
func TestFunctionsSoak(t *testing.T) {
	whole(t)
	seed := uint64(15)
	if text := os.Getenv("GOESTIMATOR_SOAK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("GOESTIMATOR_SOAK_SEED: %v", err)
		}
	}
	s := newFunctionsSoak(t, seed)
	if err := errors.Join(s.coordinate(t.Context(), soakTime(t)), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for name := range s.tasks {
		s.exit(name, 0)
	}
}

// newFunctionsSoak starts a job whose chief is this process.
func newFunctionsSoak(t *testing.T, seed uint64) *functionsSoak {
	t.Helper()
	s := &functionsSoak{rig: newRig(t, "chief-0 worker-0 worker-1 worker-2 ps-0 ps-1"), random: rand.New(rand.NewPCG(seed, 0)),
		kills: map[string]int{}, servers: map[string][]usage{}}
	delete(s.tasks, "chief-0")
	for name := range s.tasks {
		s.begin(name)
	}
	rc, err := functionsConfig(s.tfConfig("chief-0"), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.ledger, err = newLedger(rc); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin starts a task.
func (s *functionsSoak) begin(name string) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	x := s.tasks[name]
	x.p, err = proc.Start(proc.Command{Args: []string{self}, Env: append(os.Environ(), "TF_CONFIG="+s.tfConfig(name), functionsJob+"="+s.dir), Stdout: x, Stderr: x})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *functionsSoak) coordinate(ctx context.Context, length time.Duration) (err error) {
	if s.c, err = distribute.NewCoordinator(ctx, s.ledger.Strategy); err != nil {
		return err
	}
	s.ones = s.c.CreatePerWorkerDataset(s.ledger.ones)
	for over := time.Now().Add(length); time.Now().Before(over) && s.next+maxRound < ledgerRows; s.rounds++ {
		if err := s.round(ctx); err != nil {
			return fmt.Errorf("round %d: %w", s.rounds, err)
		}
		s.look()
	}
	if err := s.audit(); err != nil {
		return err
	}
	s.grown()
	return s.c.Close(ctx)
}

// maxRound limits the number of functions in a round.
const maxRound = 400

// round schedules functions, and kills workers while they run or after them.
func (s *functionsSoak) round(ctx context.Context) error {
	first, n := s.next, 50+s.random.IntN(maxRound-50)
	var values []*distribute.RemoteValue
	for ; s.next < first+int64(n); s.next++ {
		v, err := s.c.Schedule(ctx, s.note, one(s.next), s.ones)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	meanwhile := s.random.IntN(2) == 0
	if meanwhile {
		if _, err := values[s.random.IntN(n)].Fetch(ctx); err != nil {
			return err
		}
		s.strike("while functions run")
	}
	results, err := s.c.Fetch(ctx, values...)
	if err != nil {
		return err
	}
	for i, r := range results {
		if got := r[0].Int(0); got != first+int64(i) {
			return fmt.Errorf("function %d has the result of %d", first+int64(i), got)
		}
	}
	if err := s.c.Join(ctx); err != nil {
		return err
	}
	if !meanwhile {
		s.exact = append(s.exact, [2]int64{first, s.next})
		s.strike("between functions")
	}
	return nil
}

// strike kills one or more workers and restarts them.
func (s *functionsSoak) strike(when string) {
	s.t.Helper()
	for again := true; again; again = s.random.IntN(4) == 0 {
		name := fmt.Sprint("worker-", s.random.IntN(3))
		s.kill(name)
		s.kills[when]++
		s.begin(name)
	}
}

// look records the resource use of the chief and the servers.
func (s *functionsSoak) look() {
	s.t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.chief = append(s.chief, footprint{runtime.NumGoroutine(), int(m.HeapAlloc >> 10)})
	for _, name := range []string{"ps-0", "ps-1"} {
		u, err := usageOf(s.tasks[name].p.PID())
		if err != nil {
			s.t.Fatal(err)
		}
		s.servers[name] = append(s.servers[name], u)
	}
}

// audit compares the counts on the servers with the scheduled functions.
func (s *functionsSoak) audit() error {
	t, err := s.Variable(ledgerName)
	if err != nil {
		return err
	}
	step, err := s.Variable("global_step")
	if err != nil {
		return err
	}
	counts := tensor.Values[float32](t)
	more := 0
	for id, n := range counts {
		switch {
		case int64(id) < s.next && n < 1, int64(id) >= s.next && n != 0:
			s.t.Errorf("function %d of %d ran %v times", id, s.next, n)
		case n > 1:
			more++
		}
	}
	once := int64(0)
	for _, r := range s.exact {
		once += r[1] - r[0]
		for id := r[0]; id < r[1]; id++ {
			if counts[id] != 1 {
				s.t.Errorf("function %d ran %v times, expected once as no worker was killed meanwhile", id, counts[id])
			}
		}
	}
	if step.Int(0) < s.next {
		s.t.Errorf("global step %d, expected %d at least", step.Int(0), s.next)
	}
	s.t.Logf("%d functions in %d rounds, kills %v; %d ran more than once; of %d while nothing was killed each ran once; global step %d",
		s.next, s.rounds, s.kills, more, once, step.Int(0))
	return nil
}

var goroutinesLine = regexp.MustCompile(`(?m)^goroutines=(\d+)$`)

// grown compares the resource use early and late in the test.
func (s *functionsSoak) grown() {
	s.t.Helper()
	if len(s.chief) < 10 {
		s.t.Logf("%d rounds: too few to see growth", len(s.chief))
		return
	}
	n := len(s.chief)
	early, late := peak(s.chief[n/5:n*2/5]), peak(s.chief[n*4/5:])
	s.t.Logf("chief: goroutines %d, then %d; heap %d KiB, then %d", early.goroutines, late.goroutines, early.kilobytes, late.kilobytes)
	if late.goroutines > early.goroutines+20 || late.kilobytes > early.kilobytes*5/4+4<<10 {
		s.t.Errorf("the chief has grown")
	}
	for name, all := range s.servers {
		early, late := middle(all[n/5:n*2/5]), middle(all[n*4/5:])
		text, _ := s.tasks[name].text()
		lines := goroutinesLine.FindAllStringSubmatch(text, -1)
		s.t.Logf("%s: files %d, then %d; memory %d KiB, then %d; goroutines every 5 s %v", name, early.files, late.files, early.kilobytes, late.kilobytes, numbers(lines))
		if late.files > early.files+10 || late.kilobytes > early.kilobytes*5/4+16<<10 {
			s.t.Errorf("%s has grown", name)
		}
		if k := numbers(lines); len(k) > 10 && mean(k[len(k)*4/5:]) > mean(k[len(k)/5:len(k)*2/5])+20 {
			s.t.Errorf("%s has more and more goroutines", name)
		}
	}
}

// peak returns the maximum of each field.
func peak(all []footprint) (most footprint) {
	for _, f := range all {
		most = footprint{max(most.goroutines, f.goroutines), max(most.kilobytes, f.kilobytes)}
	}
	return most
}

func numbers(lines [][]string) (out []int) {
	for _, m := range lines {
		n, _ := strconv.Atoi(m[1])
		out = append(out, n)
	}
	return out
}

func mean(all []int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum / max(len(all), 1)
}

// one returns a batch of one number.
func one(n int64) *tensor.Tensor {
	t := tensor.New(tensor.Int64, 1)
	tensor.Values[int64](t)[0] = n
	return t
}
