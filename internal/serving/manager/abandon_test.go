package manager

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// Close does not wait for a loader that ignores its context; a model that it loads later is closed.
func TestEndWhileLoading(t *testing.T) {
	began, release, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	now, d := newClock(), newDisk(t)
	d.put("m", "1", "x")
	m, err := New(Options{Clock: now, FreeMemory: func() {}, Loader: servable.LoaderFunc(func(context.Context, string) (servable.Model, error) {
		close(began)
		<-release
		return &servable.Func{OnClose: func() error { close(closed); return nil }}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error, 1)
	go func() { loaded <- m.Reload(testContext(t), d.cfg("m")) }()
	<-began
	ended := make(chan error, 1)
	go func() { ended <- m.Close(testContext(t)) }()
	now.fire(t, abandonAfter)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-loaded
	close(release)
	<-closed
}
