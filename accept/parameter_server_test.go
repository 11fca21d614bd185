package accept

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
)

// example is a cluster of processes of examples/parameter_server.
type example struct {
	*rig
	bin    string
	epochs int
	kills  map[string]int
}

func newExample(t *testing.T, epochs int) *example {
	t.Helper()
	e := &example{rig: newRig(t, "chief-0 worker-0 worker-1 worker-2 ps-0 ps-1 evaluator-0"), bin: filepath.Join(t.TempDir(), "parameter_server"), epochs: epochs, kills: map[string]int{}}
	build := exec.Command("go", "build", "-o", e.bin, "./examples/parameter_server")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name := range e.tasks {
		e.begin(name)
	}
	return e
}

// begin starts a task, as a launcher would.
func (e *example) begin(name string) {
	e.t.Helper()
	x := e.tasks[name]
	x.mu.Lock()
	x.from = x.log.Len()
	x.mu.Unlock()
	var err error
	x.p, err = proc.Start(proc.Command{Args: []string{e.bin, "-model-dir", e.dir, "-epochs", strconv.Itoa(e.epochs)}, Env: append(os.Environ(), "TF_CONFIG="+e.tfConfig(name), "GOMAXPROCS=1"), Stdout: x, Stderr: x})
	if err != nil {
		e.t.Fatal(err)
	}
}

// strike kills a task after the chief has ended an epoch, and restarts it.
func (e *example) strike(name string, epoch int) {
	e.t.Helper()
	e.await("chief-0", fmt.Sprintf(`(?m)^epoch %d, `, epoch))
	e.kill(name)
	e.begin(name)
	e.listening(name)
	e.kills[name]++
}

// epoch returns the last epoch that the chief has ended.
func (e *example) epoch() int {
	text, _ := e.tasks["chief-0"].text()
	return strings.Count(text, "epoch ") - 1
}

// TestParameterServerExample kills and restarts the workers of the tutorial's cluster, one after the other, and once a
// parameter server. Training continues: each epoch has the results of all its functions, every evaluation reaches the
// accuracy, and every process ends with exit code 0.
func TestParameterServerExample(t *testing.T) {
	epochs := 200
	if long(t) {
		epochs = 3000
	}
	e := newExample(t, epochs)
	e.strike("worker-0", 5)
	e.strike("ps-1", e.epoch()+5)
	for i := 1; i < 3 || e.epoch() < epochs*3/4; i++ {
		if e.epoch() > epochs-20 {
			t.Fatalf("epoch %d of %d: too late for more kills than %v", e.epoch(), epochs, e.kills)
		}
		e.strike(fmt.Sprint("worker-", i%3), e.epoch()+5)
	}
	for _, name := range []string{"chief-0", "worker-0", "worker-1", "worker-2", "ps-0", "ps-1", "evaluator-0"} {
		e.exitWithin(name, 0, 2*patience)
	}
	t.Logf("%d epochs, kills %v", epochs, e.kills)
	e.checkEpochs()
	e.checkResults()
}

var epochLine = regexp.MustCompile(`(?m)^epoch (\d+), (\d+) steps: accuracy ([0-9.]+)$`)

// checkEpochs checks that every epoch has all its functions, and that they made the expected steps.
func (e *example) checkEpochs() {
	e.t.Helper()
	lines := epochLine.FindAllStringSubmatch(e.tasks["chief-0"].all(), -1)
	if len(lines) != e.epochs {
		e.t.Fatalf("%d epochs, expected %d", len(lines), e.epochs)
	}
	for i, m := range lines {
		if m[1] != strconv.Itoa(i) || m[2] != "5" {
			e.t.Errorf("epoch %d: %s", i, m[0])
		}
	}
	if last := lines[len(lines)-1]; number(e.t, []byte(last[3])) < learned {
		e.t.Errorf("the last epoch: %s, expected accuracy %v at least", last[0], learned)
	}
	if step := e.latest(); step < int64(5*e.epochs) {
		e.t.Errorf("the last checkpoint is of step %d, expected %d at least", step, 5*e.epochs)
	}
}

// learned is the accuracy that training must reach. Workers race, so single examples may be wrong.
const learned = 0.8

// checkResults checks the accuracy of every evaluation. Evaluations of the same variables must agree.
func (e *example) checkResults() {
	e.t.Helper()
	direct := e.accuracy("chief-0", `evaluation on the chief: accuracy ([0-9.]+) of 16 examples`)
	e.accuracy("chief-0", `evaluation by functions: accuracy ([0-9.]+)`)
	if all := e.accuracy("chief-0", `evaluation on all workers: accuracy ([0-9.]+) of 16 examples`); all != direct {
		e.t.Errorf("accuracy %v on all workers, %v on the chief: expected the same", all, direct)
	}
	e.accuracy("evaluator-0", fmt.Sprintf(`evaluator, step %d: accuracy ([0-9.]+) of 16 examples`, e.latest()))
}

// accuracy returns the only group of a pattern in the output of a task.
func (e *example) accuracy(task, pattern string) float64 {
	e.t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(e.tasks[task].all())
	if m == nil {
		e.t.Errorf("%s has not printed %s", task, pattern)
		return 0
	}
	v := number(e.t, []byte(m[1]))
	if v < learned {
		e.t.Errorf("%s: %s, expected accuracy %v at least", task, m[0], learned)
	}
	return v
}
