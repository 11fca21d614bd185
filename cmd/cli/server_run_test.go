package cli

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// TestServerEnds: a server that nobody uses ends after a while, others when they are asked to, also one that is a parameter server
// of this project's jobs.
func TestServerEnds(t *testing.T) {
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	for name, args := range map[string][]string{
		"idle":      {"--cluster_spec=local|" + ports.Address(0), "--exit-when-idle=1s"},
		"idle ps":   {"--cluster_spec=worker|" + ports.Address(0) + ",ps|" + ports.Address(1), "--exit-when-idle=1s"},
		"signal":    {"--cluster_spec=local|" + ports.Address(0)},
		"signal ps": {"--cluster_spec=worker|" + ports.Address(0) + ",ps|" + ports.Address(1)},
	} {
		task, err := served(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if task.idle == 0 {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
		err = runServer(ctx, task, slog.New(slog.DiscardHandler))
		if task.idle > 0 && (err != nil || ctx.Err() != nil) {
			t.Errorf("%s: %v, %v", name, err, ctx.Err())
		}
		if task.idle == 0 && (err == nil) != (task.trains == nil) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
