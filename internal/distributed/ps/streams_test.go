package ps

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/tensor"
)

// counted counts opened streams, by method.
type counted struct {
	cluster.Client
	mu     sync.Mutex
	opened map[string]int
}

func (c *counted) Stream(ctx context.Context, to cluster.Task, method string) (cluster.ClientStream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[method[len("/"+ServiceName+"/"):]]++
	return c.Client.Stream(ctx, to, method)
}

// trip pulls rows, pushes their gradients and pulls all.
func trip(t *testing.T, c *Client, m *Mirror) error {
	t.Helper()
	into := tensor.New(tensor.Float32, 2, 2)
	_, err := c.PullRows(testContext(t), Rows{"table", []int64{0, 10}, into})
	if err == nil {
		_, err = c.Push(testContext(t), Push{Gradients: []Gradient{{Variable: "table", IDs: []int64{0, 10}, Value: into}}})
	}
	if err == nil {
		_, err = c.Pull(testContext(t), m)
	}
	return err
}

// TestStreamsAreKept makes all requests of one kind to a server on one stream.
func TestStreamsAreKept(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
	count := &counted{Client: b.workers[0], opened: map[string]int{}}
	c := NewClient(ClientConfig{Client: count, Servers: b.Tasks})
	if _, err := c.WaitReady(testContext(t), b.p); err != nil {
		t.Fatal(err)
	}
	m, err := NewMirror(b.p)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := trip(t, c, m); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{"Pull": 2, "PullRows": 2, "Push": 2}
	if !maps.Equal(count.opened, want) {
		t.Errorf("streams opened: %v, expected %v", count.opened, want)
	}
	c.Close()
	if err := trip(t, c, m); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if len(c.streams.idle) != 0 {
		t.Errorf("after Close the client keeps %v", c.streams.idle)
	}
}

// TestKeptStreamsOfLostServer uses streams of a server that was restarted: the
// client notices, and does not use them for the new server.
func TestKeptStreamsOfLostServer(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
	m := b.mirror(t, b.c)
	if err := trip(t, b.c, m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Stop(1), b.Restart(1)); err != nil {
		t.Fatal(err)
	}
	if err := trip(t, b.c, m); !errors.Is(err, ErrReset) {
		t.Fatalf("requests to an empty server: got %v, expected ErrReset", err)
	}
	s := b.state()
	s.Replace = true
	if err := b.c.Create(testContext(t), b.p, s); err != nil {
		t.Fatal(err)
	}
	if err := trip(t, b.c, m); err != nil {
		t.Error(err)
	}
}

// TestCancelledRequest cancels a request; later ones do not get its answer.
func TestCancelledRequest(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Partitioner: FixedShards(2)}, 1, ServerConfig{})
	m := b.mirror(t, b.c)
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := b.c.Pull(ctx, m); !errors.Is(err, context.Canceled) {
		t.Fatalf("a pull of a cancelled context: got %v, expected context.Canceled", err)
	}
	if err := trip(t, b.c, m); err != nil {
		t.Error(err)
	}
}
