package accept

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/testkit"
)

// start starts a task, and waits until it responds.
func (s *runtimeSoak) start(i int) {
	s.t.Helper()
	job, index, _ := strings.Cut(s.names[i], " ")
	s.running[i] = command(s.t, "server", "--cluster_spec="+s.spec, "--job_name="+job, "--task_id="+index, "--status-address="+s.targets[i].status,
		"--allow-path="+s.folder, "--max-memory-bytes=1073741824", "--max-session-memory-bytes=134217728")
	if err := s.running[i].Start(); err != nil {
		s.t.Fatal(err)
	}
	s.targets[i].settle(s.names[i], func(taskstatus.State) bool { return true })
}

// fault chooses a random fault.
func (s *runtimeSoak) fault(python *pythonClient) {
	i, pause := s.random.IntN(len(s.names)), time.Duration(s.random.Int64N(int64(1500*time.Millisecond)))
	switch n := s.random.IntN(12); {
	case n < 5:
		s.did["killed "+s.names[i]]++
		s.kill(i, pause)
	case n < 8:
		s.did["stopped "+s.names[i]]++
		s.stop(i, 6*pause)
	case n < 10:
		s.did["attacks"]++
		s.attack(i)
	case n < 11 || s.did["killed Python"] > 3:
		time.Sleep(10 * time.Second) // give clients some time without faults
	default:
		s.did["killed Python"]++
		python.kill()
		python.start()
	}
}

// kill kills a task, and restarts it after a while.
func (s *runtimeSoak) kill(i int, after time.Duration) {
	s.faults.Add(1)
	defer s.faults.Add(1)
	if err := s.running[i].Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.running[i].Wait() // it was killed
	time.Sleep(after)
	s.start(i)
}

// stop stops a task for a while.
func (s *runtimeSoak) stop(i int, pause time.Duration) {
	for _, signal := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := s.running[i].Process.Signal(signal); err != nil {
			s.t.Fatal(err)
		}
		if signal == syscall.SIGSTOP {
			time.Sleep(pause)
		}
	}
}

// attack runs some of the attacks on a task.
func (s *runtimeSoak) attack(i int) {
	x := *s.targets[i]
	x.allowed = s.t.TempDir() // attacks create links in it
	all := clusterAttacks(&x)
	names := slices.Sorted(maps.Keys(all))
	c, m := x.dial()
	defer c.Close()
	for range 4 {
		name := names[s.random.IntN(len(names))]
		limit := 10 * time.Second
		if name == "forever" {
			limit = 500 * time.Millisecond
		}
		if err := run(m, limit, all[name].graph, all[name].runs...); err == nil && name != "many nodes" {
			s.t.Errorf("%s: accepted", name)
		}
	}
}

// pythonClient is a process that trains with TensorFlow, if TensorFlow is installed.
type pythonClient struct {
	soak   *runtimeSoak
	python string
	folder string // of its checkpoints
	cmd    *exec.Cmd
	log    *sink
	done   chan error
}

// newPythonClient starts a client.
func (s *runtimeSoak) newPythonClient() *pythonClient {
	p := &pythonClient{soak: s, python: filepath.Join(testkit.Root(), ".venv", "bin", "python"), folder: filepath.Join(s.folder, "python"), log: newSink()}
	if _, err := os.Stat(filepath.Join(testkit.Root(), ".venv", "ready")); err != nil { // written by make peers
		s.t.Logf("no client in Python: %v", err)
		p.python = ""
	}
	if err := os.Mkdir(p.folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	p.start()
	s.t.Cleanup(p.kill)
	return p
}

func (p *pythonClient) start() {
	if p.python == "" {
		return
	}
	at := func(i int) string { return p.soak.targets[i].address }
	text, err := json.Marshal(map[string][]string{"worker": {at(0), at(1)}, "ps": {at(2), at(3)}})
	if err != nil {
		p.soak.t.Fatal(err)
	}
	p.cmd, p.done = exec.Command(p.python, filepath.Join("interop", "python", "cluster_soak.py"), string(text), p.folder), make(chan error, 1)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = testkit.Root(), p.log, p.log
	p.cmd.Env = append(os.Environ(), "TF_CPP_MIN_LOG_LEVEL=2", "CUDA_VISIBLE_DEVICES=")
	if err := p.cmd.Start(); err != nil {
		p.soak.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
}

// kill kills the process like kill -9. It must still be running.
func (p *pythonClient) kill() {
	if p.cmd == nil {
		return
	}
	select {
	case err := <-p.done:
		p.soak.t.Errorf("the client in Python ended: %v\n%s", err, p.tail())
	default:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// end waits for the process to end, and reports its errors.
func (p *pythonClient) end() {
	if p.cmd == nil {
		return
	}
	if err := os.WriteFile(filepath.Join(p.folder, "over"), nil, 0o600); err != nil {
		p.soak.t.Fatal(err)
	}
	var err error
	select {
	case err = <-p.done:
		p.cmd = nil
	case <-time.After(2 * time.Minute):
		err = errors.New("it does not end")
	}
	if err != nil {
		p.soak.t.Errorf("the client in Python: %v\n%s", err, p.tail())
		return
	}
	p.soak.t.Logf("Python: %s", p.lines("[\"step\""))
}

// tail is the end of the process's output.
func (p *pythonClient) tail() string {
	text := p.log.String()
	return text[max(0, len(text)-6000):]
}

// lines are the lines with a prefix.
func (p *pythonClient) lines(prefix string) string {
	var found []string
	for line := range strings.Lines(p.log.String()) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return fmt.Sprint(found)
}
