//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watched is a writer; tests can wait for text written to it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until text has been written n times.
func (w *watched) await(t *testing.T, text string, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if strings.Count(w.String(), text) >= n {
			return
		}
	}
	t.Errorf("no %q in %q", text, w.String())
}

// launched runs a shell script as two workers, calls signals meanwhile, and
// returns the exit code and the output.
func launched(t *testing.T, script string, signals func(out *watched)) (int, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "task.sh")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out := &watched{}
	var done sync.WaitGroup
	done.Go(func() {
		out.await(t, "ready", 2)
		signals(out)
	})
	code := Run(context.Background(), []string{"launch", "--workers", "2", "--", "sh", path}, out, out)
	done.Wait()
	return code, out.String()
}

func signalSelf(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Error(err)
	}
}

func TestLaunchPassesSignalsOn(t *testing.T) {
	code, out := launched(t, "trap 'echo saved; exit 143' TERM\necho ready\nwhile :; do sleep 0.05; done\n", func(*watched) {
		signalSelf(t, syscall.SIGTERM)
	})
	if code != 143 || strings.Count(out, "saved") != 2 {
		t.Errorf("exit code %d, printed %s", code, out)
	}
}

func TestLaunchIsKilledByTheSecondInterrupt(t *testing.T) {
	code, out := launched(t, "trap '' TERM\necho ready\nwhile :; do sleep 0.05; done\n", func(out *watched) {
		signalSelf(t, syscall.SIGINT)
		out.await(t, "passed on to all tasks", 1)
		signalSelf(t, syscall.SIGINT)
	})
	if code != 130 || strings.Count(out, "was killed") != 2 {
		t.Errorf("exit code %d, printed %s", code, out)
	}
}

func TestOwnNameIsThisBinary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &app{name: "no-such-program-in-path"}
	if got, err := a.findCommand([]string{a.name, "train"}); err != nil || len(got) != 2 || got[0] != self {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := a.findCommand([]string{"another-program-not-in-path"}); err == nil {
		t.Errorf("got %v", got)
	}
}
