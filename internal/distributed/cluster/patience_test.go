package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// TestStreamToAPeerThatIsGone: a peer that was connected before is awaited no
// longer than the peer timeout.
func TestStreamToAPeerThatIsGone(t *testing.T) {
	a, b := cluster.Task{Job: "worker"}, cluster.Task{Job: "ps"}
	c := clustertest.Start(t, func(c *cluster.Config) { c.PeerTimeout, c.CallTimeout = 100*time.Millisecond, time.Hour }, a, b)
	service := cluster.Service{Name: "test.Patience", Unary: map[string]cluster.Handler{
		"Hello": func(context.Context, *cluster.Frame) (*cluster.Frame, error) { return &cluster.Frame{}, nil }}}
	for _, n := range c.Nodes {
		if err := n.Register(service); err != nil {
			t.Fatal(err)
		}
		n.Serve()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.Nodes[a].Call(ctx, b, "/test.Patience/Hello", &cluster.Frame{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Nodes[b].Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Nodes[a].Stream(ctx, b, "/test.Patience/Hello"); !errors.Is(err, cluster.ErrPeerLost) || ctx.Err() != nil {
		t.Errorf("got %v, expected the loss of the peer", err)
	}
}
