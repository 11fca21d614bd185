package accept

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving/client"
)

// thorough reports whether the full runs of the serving tests are requested.
// Otherwise a form of a few seconds runs, except with -short.
func thorough(t *testing.T) bool {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: runs processes (-short)")
	}
	return os.Getenv("GOESTIMATOR_ACCEPT") == "1"
}

// sink stores the output of a process and signals changes.
type sink struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newSink() *sink { return &sink{changed: make(chan struct{})} }

// Write appends output.
func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return s.text.Write(b)
}

func (s *sink) String() string { text, _ := s.now(); return text }

func (s *sink) now() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.changed
}

// server is a process of `goestimator serve`.
type server struct {
	*proc.Process
	t          *testing.T
	log        *sink
	GRPC, REST string
}

// serve starts a server on free ports and waits until its models are available.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	s := launch(t, append([]string{"--port", "0", "--rest-port", "0"}, args...)...)
	s.ready()
	return s
}

// launch starts a server.
func launch(t *testing.T, args ...string) *server {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	return launchAs(t, append([]string{path, "serve", "--json", "--host", "127.0.0.1"}, args...)...)
}

// launchAs starts a command that becomes a server.
func launchAs(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, log: newSink()}
	var err error
	if s.Process, err = proc.Start(proc.Command{Args: args, Env: append(os.Environ(), "NO_COLOR=1"), Dir: testkit.Root(), Stdout: s.log, Stderr: s.log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Signal(syscall.SIGKILL) // it may have ended already
		<-s.Done()
		if t.Failed() {
			t.Logf("the server's last lines:\n%s", tail(s.log.String()))
		}
	})
	return s
}

// ready waits for the addresses of the server.
func (s *server) ready() {
	s.t.Helper()
	line := s.wrote(`{"grpc":`)
	var at struct{ GRPC, REST string }
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		s.t.Fatalf("%v: %q", err, line)
	}
	s.GRPC, s.REST = at.GRPC, at.REST
}

// wrote waits for a line that contains a text.
func (s *server) wrote(text string) string {
	s.t.Helper()
	limit := time.After(patience)
	for ended := false; ; {
		log, changed := s.log.now()
		for line := range strings.Lines(log) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		if ended {
			s.t.Fatalf("the server has ended with exit code %d before it wrote %q", s.ExitCode(), text)
		}
		select {
		case <-changed:
		case <-s.Done():
			ended = true // check the output once more
		case <-limit:
			s.t.Fatalf("the server has not written %q within %v", text, patience)
		}
	}
}

// end sends a signal, waits for the process to end and returns the exit code.
func (s *server) end(sig syscall.Signal) int {
	s.t.Helper()
	if err := s.Signal(sig); err != nil {
		s.t.Fatalf("%v: it had ended with exit code %d", err, s.ExitCode())
	}
	select {
	case <-s.Done():
	case <-time.After(patience):
		s.t.Fatalf("the server goes on %v after %v", patience, sig)
	}
	return s.ExitCode()
}

// resident returns the server's memory in MiB.
func (s *server) resident() int { return status(strconv.Itoa(s.PID()), "VmRSS") >> 10 }

// dial connects a client to the gRPC port. The client does not retry.
func (s *server) dial() *client.Client {
	s.t.Helper()
	c, err := client.Dial(s.GRPC, client.Options{Attempts: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a REST request: GET without a body, otherwise POST.
func (s *server) ask(path string, body any) (int, []byte) {
	s.t.Helper()
	code, b, err := s.request(s.t.Context(), http.DefaultClient, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return code, b
}

func (s *server) request(ctx context.Context, c *http.Client, path string, body any) (int, []byte, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	method, data := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.REST+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// answer returns a field of the reply, whose status must be 200.
func (s *server) answer(path string, body any, field string) any {
	s.t.Helper()
	code, b := s.ask(path, body)
	var reply map[string]any
	if err := json.Unmarshal(b, &reply); err != nil || code != http.StatusOK || reply[field] == nil {
		s.t.Fatalf("%s: %d, expected 200 and %s: %s (%v)", path, code, field, b[:min(len(b), 500)], err)
	}
	return reply[field]
}

// must runs goestimator to its end and returns its standard output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	cmd := command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("goestimator %s: %v\n%s", strings.Join(args, " "), err, tail(stderr.String()))
	}
	return stdout.String()
}

// exportTo runs `export` and returns the new folder.
func exportTo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out struct{ Export string }
	text := must(t, append([]string{"export", "--json", "--to", dir}, args...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || filepath.Dir(out.Export) != filepath.Clean(dir) {
		t.Fatalf("export: %v: %q", err, text)
	}
	return out.Export
}

// predictions runs `predict` on a file, or on the input of the config.
func predictions(t *testing.T, file string, args ...string) []map[string]any {
	t.Helper()
	args = append([]string{"predict"}, args...)
	if file != "" {
		args = append(args, "--input", file)
	}
	var rows []map[string]any
	for line := range strings.Lines(must(t, args...)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("predict: %v: %q", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// difference returns the largest difference of two JSON values, relative for numbers above 1; an error if their structures differ.
func difference(got, want any) (float64, error) {
	switch w := want.(type) {
	case float64:
		if g, ok := got.(float64); ok {
			return max(g-w, w-g) / max(1, w, -w), nil
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			worst := 0.0
			for i := range w {
				d, err := difference(g[i], w[i])
				if err != nil {
					return 0, err
				}
				worst = max(worst, d)
			}
			return worst, nil
		}
	default:
		if got == want {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("got %.200v, expected %.200v", got, want)
}
