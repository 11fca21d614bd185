//go:build unix

package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const parentEnv = "PROC_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		runParent()
	}
	goleak.VerifyTestMain(m)
}

// runParent starts a child, prints its process id and waits.
func runParent() {
	p, err := Start(Command{Args: []string{"sleep", "600"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	<-p.Done()
	os.Exit(0)
}

func shell(t *testing.T, script string, linger time.Duration) (*Process, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	p, err := Start(Command{Args: []string{"sh", "-c", script}, Stdout: &out, Linger: linger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p, &out
}

func await(t *testing.T, p *Process) int {
	t.Helper()
	select {
	case <-p.Done():
		return p.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("the process did not end within a minute")
		return 0
	}
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 138": 138, "kill -9 $$": 137, "kill -15 $$": 143} {
		p, _ := shell(t, script, 0)
		if got := await(t, p); got != want {
			t.Errorf("%s: got %d, want %d", script, got, want)
		}
		if err := p.Signal(syscall.SIGTERM); err != ErrEnded {
			t.Errorf("signal after the end: got %v", err)
		}
	}
}

func TestOutputIsWholeWhenDone(t *testing.T) {
	p, out := shell(t, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done", 0)
	await(t, p)
	if got := strings.Count(out.String(), "\n"); got != 2000 || !strings.HasSuffix(out.String(), "line 1999\n") {
		t.Errorf("got %d lines, ending in %q", got, out.String()[max(0, out.Len()-20):])
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := Start(Command{}); err == nil {
		t.Error("no command was started")
	}
	if _, err := Start(Command{Args: []string{"/no/such/program"}, Stdout: &bytes.Buffer{}}); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v, want an error that names the program", err)
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	p, _ := shell(t, "trap '' TERM; sleep 600; sleep 600", 0)
	p.Stop(0)
	if got := await(t, p); got != 137 && got != 143 {
		t.Errorf("got %d, want 137 or 143", got)
	}
}

func TestChildrenLeftBehindAreEnded(t *testing.T) {
	p, out := shell(t, "sleep 600 & echo $!", time.Minute)
	if got := await(t, p); got != 0 {
		t.Errorf("exit code %d", got)
	}
	requireExited(t, strings.TrimSpace(out.String()))
}

func TestChildrenLeftBehindMayFinish(t *testing.T) {
	heard := filepath.Join(t.TempDir(), "heard") // created once the child handles SIGTERM
	p, out := shell(t, "(trap 'sleep 0.2; echo saved; exit' TERM; echo ready; : >"+heard+"; while :; do sleep 0.05; done) & while [ ! -e "+heard+" ]; do sleep 0.01; done", time.Minute)
	await(t, p)
	if got := out.String(); got != "ready\nsaved\n" {
		t.Errorf("got %q", got)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: only Linux kills a child whose parent was killed")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	parent.Wait()
	requireExited(t, strings.TrimSpace(string(line[:n])))
}

// requireExited waits until a process has ended or is a zombie that init has not reaped yet.
func requireExited(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(n, 0) != nil {
			return
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %s is still there", pid)
}
