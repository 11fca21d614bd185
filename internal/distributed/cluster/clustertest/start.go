package clustertest

import (
	"log/slog"
	"net"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/runconfig"
)

// Cluster is a set of nodes in this process that talk over loopback sockets.
type Cluster struct {
	Nodes   map[cluster.Task]*cluster.Node
	Proxies map[cluster.Task]*Proxy // the proxy through which all others reach the task

	spec   runconfig.ClusterSpec
	listen map[cluster.Task]string // the task's listen address, behind its proxy
	change func(*cluster.Config)
}

// Start opens a node for each task, each behind a proxy; tasks of a job are
// numbered from 0. The nodes are as from cluster.Open: Register, then Serve.
// change, which may be nil, modifies each node's configuration before it is
// opened. Everything is closed when the test ends.
func Start(tb testing.TB, change func(*cluster.Config), tasks ...cluster.Task) *Cluster {
	tb.Helper()
	c := &Cluster{Nodes: map[cluster.Task]*cluster.Node{}, Proxies: map[cluster.Task]*Proxy{}, listen: map[cluster.Task]string{}, change: change}
	jobs := map[string][]string{}
	listeners := map[cluster.Task]net.Listener{}
	for _, t := range tasks {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		listeners[t], c.listen[t] = l, l.Addr().String()
		c.Proxies[t] = NewProxy(tb, c.listen[t])
		for len(jobs[t.Job]) <= t.Index {
			jobs[t.Job] = append(jobs[t.Job], "")
		}
		jobs[t.Job][t.Index] = c.Proxies[t].Addr()
	}
	c.spec = runconfig.NewClusterSpec(jobs)
	for _, t := range tasks {
		c.open(tb, t, listeners[t])
	}
	return c
}

// Restart replaces a task's node, which must have been closed, by a new one at
// the same address, like a restarted process.
func (c *Cluster) Restart(tb testing.TB, t cluster.Task) *cluster.Node {
	tb.Helper()
	return c.open(tb, t, nil)
}

func (c *Cluster) open(tb testing.TB, t cluster.Task, l net.Listener) *cluster.Node {
	tb.Helper()
	config := cluster.Config{Task: t, Address: c.listen[t], Listener: l, Spec: c.spec, Log: slog.New(slog.DiscardHandler)}
	if c.change != nil {
		c.change(&config)
	}
	n, err := cluster.Open(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { n.Close() })
	c.Nodes[t] = n
	return n
}
