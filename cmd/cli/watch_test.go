package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/live"
	eventfiles "github.com/goestimator/goestimator/internal/format/summary"
	"go.uber.org/goleak"
)

// An open page shows a run that begins later, its progress and its end. When its context ends, watch ends without leaving
// goroutines.
func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	root := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, printed := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, []string{"watch", root}, printed, io.Discard)
		printed.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	page, ok := strings.CutPrefix(strings.TrimSpace(line), "page=")
	if err != nil || !ok || !strings.HasPrefix(page, "http://127.0.0.1:") {
		t.Fatalf("printed %q: %v", line, err)
	}
	reply, err := http.Get(page + "events") //nolint:noctx // ends with the server
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	events := bufio.NewScanner(reply.Body)
	dir := filepath.Join(root, "later")
	w := eventfiles.NewFileWriter(dir, eventfiles.Options{})
	if err := errors.Join(w.Scalar(1, "loss", 0.5), w.Flush()); err != nil {
		t.Fatal(err)
	}
	await := func(what string, is func(live.Run) bool) {
		t.Helper()
		for events.Scan() {
			data, _ := strings.CutPrefix(events.Text(), "data: ")
			var r live.Run
			if json.Unmarshal([]byte(data), &r) == nil && is(r) {
				return
			}
		}
		t.Fatalf("no %s: %v", what, events.Err())
	}
	await("run that began later", func(r live.Run) bool { return r.Name == "later" && r.Step == 1 && r.State == "stopped" })
	if err := errors.Join(w.Scalar(2, "loss", 0.25), w.Close()); err != nil {
		t.Fatal(err)
	}
	await("second step", func(r live.Run) bool { return r.Step == 2 && *r.Curves[0].Values[1] == 0.25 })
	state := `{"finished":{"global_step":2,"reason":"max_steps"}}`
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o644); err != nil {
		t.Fatal(err)
	}
	await("end", func(r live.Run) bool { return r.State == "finished" && r.Reason == "max_steps" })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	if refused, err := http.DefaultClient.Do(r); err != nil || refused.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %v %v", refused, err)
	} else {
		refused.Body.Close()
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
	http.DefaultClient.CloseIdleConnections()
}
