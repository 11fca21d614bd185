package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// captured is profiler.py's description of a profile.
type captured struct {
	Files    []string
	Lines    map[string]map[string][]string // event names by plane and line
	Overlaps int                            // between events on one line
	Monitor  string
}

// TestProfiler: TensorFlow's client captures the server's activity while requests run, and writes a profile with requests, batches, runs
// and the nodes of runs.
func TestProfiler(t *testing.T) {
	p := peers(t)
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	at := serve(t, "--model", "m="+base, "--enable-batching")
	end := requestAlways(t, "http://"+at.REST+"/v1/models/m:predict", `{"instances": [1, 2, 5]}`)
	out := p.run(t, "profiler.py", at.GRPC, t.TempDir(), "500")
	end()
	lines := strings.Split(strings.TrimSpace(out), "\n") // the client's output comes first
	var c captured
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	if want := strings.ReplaceAll(at.GRPC, ":", "_") + ".xplane.pb"; !slices.Equal(c.Files, []string{want}) || c.Overlaps != 0 {
		t.Errorf("files %v, expected %s; %d events overlap", c.Files, want, c.Overlaps)
	}
	host := c.Lines["/host:CPU"]
	for line, event := range map[string]string{"requests 1": "Predict m", "queue 1": "m", "batches 1": "m", "runs 1": "m"} {
		if !slices.Contains(host[line], event) {
			t.Errorf("line %q has %v, expected %q", line, host[line], event)
		}
	}
	if !slices.ContainsFunc(host["runs 1"], func(name string) bool { return strings.Contains(name, ":") }) {
		t.Errorf("no node of the model in %v", host["runs 1"])
	}
	if !strings.Contains(c.Monitor, "m version 1: ") || !strings.Contains(c.Monitor, " 0 errors") || strings.Contains(c.Monitor, "server: 0 requests") {
		t.Errorf("monitor: %q", c.Monitor)
	}
}

// requestAlways sends a request repeatedly from two clients until end is called.
func requestAlways(t *testing.T, url, body string) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := post(url, body); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(stop)
		clients.Wait()
	}
}

func post(url, body string) error {
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", r.Status, text.String())
	}
	return nil
}
