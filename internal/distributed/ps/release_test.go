package ps

import (
	"bytes"
	"log/slog"
	"testing"
	"time"
)

// TestSnapshotOfRestartedServer: a restarted server has nothing to release,
// which is no reason to warn.
func TestSnapshotOfRestartedServer(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	var log bytes.Buffer
	c := b.Client(0, ClientConfig{Log: slog.New(slog.NewTextHandler(&log, nil)), Timeout: 30 * time.Second})
	if _, err := c.WaitReady(testContext(t), b.p); err != nil {
		t.Fatal(err)
	}
	s, err := c.Fence(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(1); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Connect(testContext(t), b.p); err != nil { // waits for it
		t.Fatal(err)
	}
	log.Reset()
	s.abandon()
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
