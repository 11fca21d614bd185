package failpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

var testPoint = New("failpoint/test")

func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") != "" {
		fmt.Println(testPoint.Here())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestDisabledPointDoesNothing(t *testing.T) {
	if err := testPoint.Here(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = testPoint.Here() }); n != 0 {
		t.Fatalf("a disabled point allocates %v times", n)
	}
}

func TestErrorOnNthPassage(t *testing.T) {
	disable, err := Enable("failpoint/test", "error(no space)@2")
	if err != nil {
		t.Fatal(err)
	}
	defer disable()
	for i, want := range []bool{false, true, false} {
		if err := testPoint.Here(); errors.Is(err, ErrInjected) != want {
			t.Fatalf("passage %d: got %v, want failure %v", i+1, err, want)
		}
	}
	disable()
	if err := testPoint.Here(); err != nil {
		t.Fatal(err)
	}
}

func TestBadSpecs(t *testing.T) {
	for _, s := range []string{"", "panic", "exit", "exit(x)", "error(x", "error@0", "error@x"} {
		if _, err := Enable("failpoint/test", s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
	if _, err := Enable("failpoint/unknown", "error"); err == nil {
		t.Error("an unknown point is accepted")
	}
	if _, err := parseAll("a=error;b"); err == nil {
		t.Error("a term without = is accepted")
	}
}

func TestChildProcess(t *testing.T) {
	for _, c := range []struct {
		spec   string
		code   int
		signal syscall.Signal
	}{
		{"failpoint/test=exit(7)", 7, 0},
		{"failpoint/test=kill", -1, syscall.SIGKILL},
		{"failpoint/test=error; ", 0, 0},
		{"nonsense", 2, 0},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", EnvVar+"="+c.spec)
		_ = cmd.Run()
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if cmd.ProcessState.ExitCode() != c.code || (c.signal != 0 && ws.Signal() != c.signal) {
			t.Errorf("%s: got %v, want code %d signal %v", c.spec, cmd.ProcessState, c.code, c.signal)
		}
	}
}

// TestStop: a process stops at the point until it is continued.
func TestStop(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", EnvVar+"=failpoint/test=stop")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("got %v, %v, expected a process that stands still", ws, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("continued: %v", err)
	}
}

func ExampleEnable() {
	disable, err := Enable("failpoint/test", "error(disk full)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer disable()
	fmt.Println(testPoint.Here())
	// Output: failpoint failpoint/test: injected failure: disk full
}

func BenchmarkDisabled(b *testing.B) {
	for b.Loop() {
		_ = testPoint.Here()
	}
}
