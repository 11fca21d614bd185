package cluster_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// pingPS makes one call.
func pingPS(t *testing.T, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f, err := n.Call(ctx, ps, "/test.Ping/Ping", &cluster.Frame{})
	if err == nil {
		f.Release()
	}
	return err
}

// openTask opens another process of a cluster's task.
func openTask(t *testing.T, c cluster.Config) *cluster.Node {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	n, err := cluster.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// claimed is a cluster whose worker has called the ps.
func claimed(t *testing.T) *clustertest.Cluster {
	t.Helper()
	c := clustertest.Start(t, func(c *cluster.Config) { c.PeerTimeout = time.Second }, worker, ps) // 12 s, the minimum
	if err := c.Nodes[ps].Register(ping()); err != nil {
		t.Fatal(err)
	}
	c.Nodes[ps].Serve()
	if err := pingPS(t, c.Nodes[worker]); err != nil {
		t.Fatal(err)
	}
	return c
}

// Of two live processes of one task the later one is refused, and the first continues; the later one gets the
// task as soon as the first has ended.
func TestTwoLiveProcessesOfOneTask(t *testing.T) {
	c := claimed(t)
	first, second := c.Nodes[worker], openTask(t, cluster.Config{Task: worker, Spec: c.Nodes[worker].Spec()})
	done := make(chan struct{})
	var heartbeat sync.WaitGroup
	heartbeat.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if err := pingPS(t, first); err != nil {
				t.Errorf("the first: %v", err)
				return
			}
		}
	})
	err := pingPS(t, second)
	close(done)
	heartbeat.Wait()
	if !errors.Is(err, cluster.ErrTaken) || !errors.Is(err, cluster.ErrRefused) {
		t.Fatalf("the second: %v", err)
	}
	if text := err.Error(); strings.Count(text, "at 127.0.0.1:")+strings.Count(text, "at [::1]:") < 2 || !strings.Contains(text, "tf-config") || !strings.Contains(text, worker.String()) {
		t.Errorf("got %s", text)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := pingPS(t, second); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
}

// A process replaces a silent one before it when that is lost.
func TestSilentProcessIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it takes as long as gRPC's pings do")
	}
	t.Parallel()
	c := claimed(t)
	direct := map[string][]string{"ps": {c.Nodes[ps].Addr()}, "worker": c.Nodes[ps].Spec().Addresses("worker")}
	second := openTask(t, cluster.Config{Task: worker, Spec: runconfig.NewClusterSpec(direct)})
	c.Proxies[ps].Drop()
	if err := pingPS(t, second); err != nil {
		t.Errorf("beside a silent process: %v", err)
	}
	c.Proxies[ps].Heal()
}

// A process detects that another one of its task answers at its address.
func TestCheckOwn(t *testing.T) {
	c := claimed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.Nodes[ps].CheckOwn(ctx); err != nil {
		t.Errorf("the one that answers: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := openTask(t, cluster.Config{Task: ps, Listener: l, Spec: c.Nodes[ps].Spec()})
	err = elsewhere.CheckOwn(ctx)
	if !errors.Is(err, cluster.ErrTaken) || !strings.Contains(err.Error(), c.Nodes[ps].Addr()) {
		t.Errorf("another: %v", err)
	}
	if err := c.Nodes[ps].Close(); err != nil {
		t.Error(err)
	}
	if err := elsewhere.CheckOwn(ctx); err != nil {
		t.Errorf("nobody answers: %v", err)
	}
	if err := openTask(t, cluster.Config{Task: worker, Spec: c.Nodes[ps].Spec()}).CheckOwn(ctx); err != nil {
		t.Errorf("a task that only calls: %v", err)
	}
}

// A port that another process uses is an error.
func TestAddressInUse(t *testing.T) {
	ports, err := freeport.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	config := cluster.Config{Task: ps, Address: ports.Address(0), Spec: runconfig.NewClusterSpec(map[string][]string{"ps": {ports.Address(0)}})}
	openTask(t, config)
	if _, err := cluster.Open(config); !errors.Is(err, runconfig.ErrMistake) || !strings.Contains(err.Error(), "tf-config") {
		t.Errorf("got %v", err)
	}
}
