package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
)

// receiver is a server that keeps the bodies it receives and responds with codes, repeating the last.
type receiver struct {
	bodies [][]byte
	codes  []int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.bodies = append(r.bodies, body)
	code := r.codes[min(len(r.bodies), len(r.codes))-1]
	if code == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(code)
}

func TestPost(t *testing.T) {
	for _, c := range []struct {
		codes []int
		tries int
		want  string // of the error
	}{
		{[]int{200}, 1, ""},
		{[]int{503, 204}, 2, ""},
		{[]int{404}, 1, "refused: answer 404 Not Found"},
		{[]int{302}, 1, "refused: answer 302 Found"},
	} {
		r := &receiver{codes: c.codes}
		s := httptest.NewServer(r)
		err := postJSON(context.Background(), s.URL+"/hook?key=secret", []byte("{}"))
		s.Close()
		if got := ""; err != nil {
			if got = err.Error(); got != c.want {
				t.Errorf("%v: %v", c.codes, err)
			}
		} else if c.want != "" || len(r.bodies) != c.tries {
			t.Errorf("%v: %d tries, error %v", c.codes, len(r.bodies), err)
		}
		if err := postJSON(context.Background(), s.URL+"/hook?key=secret", nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("a server that is gone: %v", err)
		}
	}
}

// TestNotify: training reports its end and its failure. If nobody listens, the exit code does not change. Nothing that train writes or
// prints contains the key in the address.
func TestNotify(t *testing.T) {
	r := &receiver{codes: []int{200, 200, 400}}
	s := httptest.NewServer(r)
	defer s.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := "model_dir: " + filepath.Join(dir, "run") + "\nseed: 1\nmodel: {name: fit}\ntrain: {input: {format: line}, max_steps: 5}\nrun: {notify: \"" + s.URL + "/?key=secret\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		set, event string
		code       int
	}{{"seed=1", "finished", 0}, {"model.params.rate=1e30", "failed", 1}, {"seed=1", "finished", 0}} {
		var stdout, stderr bytes.Buffer
		sub := "model_dir=" + filepath.Join(dir, c.set)
		code := Run(context.Background(), []string{"train", "--config", config, "--set", c.set, "--set", sub}, &stdout, &stderr,
			WithModel("fit", estimator.ModelFunc(fit)), WithInput("line", estimator.InputFunc(line)))
		var got notification
		if err := json.Unmarshal(r.bodies[i], &got); err != nil || got.Event != c.event || got.ExitCode != c.code || code != c.code {
			t.Errorf("%s: exit code %d, sent %s: %v", c.set, code, r.bodies[i], err)
		}
		written, err := os.ReadFile(filepath.Join(dir, c.set, "config.yaml"))
		if err != nil || strings.Contains(string(written)+stdout.String()+stderr.String()+string(r.bodies[i]), "secret") {
			t.Errorf("the key is told, or %v:\n%s", err, stderr.String())
		}
	}
}
