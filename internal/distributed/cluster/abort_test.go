package cluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// TestAbort: the peer's stream and the task's own calls end at once, another node can use the address, and Close does nothing more.
func TestAbort(t *testing.T) {
	worker, ps := cluster.Task{Job: "worker"}, cluster.Task{Job: "ps"}
	c := clustertest.Start(t, nil, worker, ps)
	hang := cluster.Service{Name: "test.Hang", Streams: map[string]cluster.StreamHandler{
		"Hang": func(_ context.Context, s cluster.Stream) error { _, err := s.Recv(); return err },
	}}
	if err := c.Nodes[ps].Register(hang); err != nil {
		t.Fatal(err)
	}
	c.Nodes[ps].Serve()
	s, err := c.Nodes[worker].Stream(t.Context(), ps, "/test.Hang/Hang")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Abort("")
	cluster.Abort(c.Nodes[ps].Addr())
	if _, err := s.Recv(); !errors.Is(err, cluster.ErrPeerLost) {
		t.Errorf("the stream to it: %v, expected ErrPeerLost", err)
	}
	if err := c.Nodes[ps].Healthy(t.Context(), worker); err == nil {
		t.Error("it calls others")
	}
	if err := c.Nodes[ps].Close(); err != nil {
		t.Error(err)
	}
	c.Restart(t, ps).Serve()
	if err := c.Nodes[worker].Healthy(t.Context(), ps); err != nil {
		t.Error(err)
	}
}
