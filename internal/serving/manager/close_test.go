package manager

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestClose: Close waits for users, but not longer than its context, and no handles are returned afterwards.
func TestClose(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	m := newManager(t, Options{Loader: d})
	if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	h, err := m.Acquire("m", servable.Version{})
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Close(over); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "{name: m version: 1}") {
		t.Errorf("closing while in use: %v", err)
	}
	if _, err := h.Model().Run(context.Background(), nil, nil); err != nil {
		t.Errorf("a handle that is held: %v", err)
	}
	if _, err := m.Acquire("m", servable.Version{}); status.Code(err) != codes.NotFound {
		t.Errorf("after closing: %v", err)
	}
	expect(t, "reload after closing", text(m.Reload(testContext(t), d.cfg("m"))), "Unavailable: the server is shutting down")
	h.Release()
	if err := m.Close(testContext(t)); err != nil {
		t.Error(err)
	}
	if m.Ready() {
		t.Error("ready after closing")
	}
}
