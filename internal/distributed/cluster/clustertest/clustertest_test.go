package clustertest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

var (
	worker = cluster.Task{Job: "worker"}
	ps     = cluster.Task{Job: "ps"}
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hang() cluster.Service {
	return cluster.Service{Name: "test.Hang", Unary: map[string]cluster.Handler{
		"Hang": func(ctx context.Context, _ *cluster.Frame) (*cluster.Frame, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}
}

func start(t *testing.T, change func(*cluster.Config)) *clustertest.Cluster {
	t.Helper()
	c := clustertest.Start(t, change, worker, ps)
	if err := c.Nodes[ps].Register(hang()); err != nil {
		t.Fatal(err)
	}
	c.Nodes[ps].Serve()
	return c
}

func healthy(t *testing.T, c *clustertest.Cluster, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return c.Nodes[worker].Healthy(ctx, ps)
}

func TestFaultsOfTheProxy(t *testing.T) {
	c := start(t, nil)
	p := c.Proxies[ps]
	if err := healthy(t, c, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	for name, disturb := range map[string]func(){"cut": p.Cut, "drop": p.Drop} {
		disturb()
		if err := healthy(t, c, 100*time.Millisecond); !errors.Is(err, cluster.ErrPeerLost) {
			t.Errorf("%s: got %v", name, err)
		}
		p.Heal()
		if err := healthy(t, c, 30*time.Second); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	const delay = 30 * time.Millisecond
	p.Delay(delay)
	before := time.Now()
	if err := healthy(t, c, 30*time.Second); err != nil || time.Since(before) < delay {
		t.Errorf("a delayed answer took %v, %v", time.Since(before), err)
	}
}

func TestRestart(t *testing.T) {
	c := start(t, nil)
	if err := healthy(t, c, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	before := c.Nodes[ps].Incarnation()
	c.Nodes[ps].Close()
	c.Restart(t, ps).Serve()
	if err := healthy(t, c, 30*time.Second); err != nil || c.Nodes[ps].Incarnation() == before {
		t.Errorf("after the restart: %v", err)
	}
}

// TestBlackHoleIsNoticed takes as long as the shortest peer timeout that gRPC's
// pings allow.
func TestBlackHoleIsNoticed(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("takes up to 30 s: set GOESTIMATOR_ACCEPT=1")
	}
	c := start(t, nil)
	s, err := c.Nodes[worker].Stream(t.Context(), ps, "/test.Hang/Hang")
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 2)
	go func() {
		_, err := c.Nodes[worker].Call(t.Context(), ps, "/test.Hang/Hang", &cluster.Frame{})
		errs <- err
	}()
	go func() {
		_, err := s.Recv()
		errs <- err
	}()
	if err := healthy(t, c, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	c.Proxies[ps].Drop()
	for range 2 {
		if err := <-errs; !errors.Is(err, cluster.ErrPeerLost) || time.Since(before) > 30*time.Second {
			t.Errorf("after %v: got %v", time.Since(before), err)
		}
		t.Logf("noticed after %v", time.Since(before))
	}
	c.Proxies[ps].Heal()
}
