package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	endHost()
	testkit.RemoveProgram()
	os.Exit(code)
}

// goestimator runs a command to its end and returns its standard output.
func goestimator(t *testing.T, args ...string) string {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = testkit.Root()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("goestimator %s: %v\n%s", strings.Join(args, " "), err, tail(stderr.String(), 2000))
	}
	return string(out)
}

// exported runs `export` and returns the new folder.
func exported(t *testing.T, base string, args ...string) string {
	t.Helper()
	var out struct{ Export string }
	text := goestimator(t, append([]string{"export", "--json", "--to", base}, args...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("export: %v: %q", err, text)
	}
	return out.Export
}

// predictRows runs `predict` on a file.
func predictRows(t *testing.T, file string, args ...string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	for line := range strings.Lines(goestimator(t, append([]string{"predict", "--input", file}, args...)...)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("predict: %v: %q", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// addresses are the addresses of a process of `goestimator serve`.
type addresses struct{ GRPC, REST string }

// serve starts a server, and stops it at the end of the test.
func serve(t *testing.T, args ...string) addresses {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"serve", "--json", "--host", "127.0.0.1", "--port", "0", "--rest-port", "0"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hurry := time.AfterFunc(scriptTime, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
		time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, tail(stderr.String(), 2000))
		}
		hurry.Stop()
	})
	var at addresses
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatalf("the server's addresses: %v\n%s", err, line)
	}
	return at
}
