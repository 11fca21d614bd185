package cluster

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/goestimator/goestimator/runconfig"
)

// NewLocal returns the nodes of a cluster within this process and without
// sockets: the in-memory twin, for tests. The nodes are as from Open (Register,
// then Serve; Close each), and Faults disturbs the connections between them.
func NewLocal(tasks ...Task) (map[Task]*Node, *Faults) {
	jobs := map[string][]string{}
	for _, t := range tasks {
		for len(jobs[t.Job]) <= t.Index {
			jobs[t.Job] = append(jobs[t.Job], fmt.Sprintf("local-%s-%d:0", t.Job, len(jobs[t.Job])))
		}
	}
	f := &Faults{spec: runconfig.NewClusterSpec(jobs), listeners: map[Task]*memoryListener{}, links: map[[2]Task]*link{}}
	nodes := map[Task]*Node{}
	for _, t := range tasks {
		nodes[t] = f.Restart(t)
	}
	return nodes, f
}

// Faults is the network of a NewLocal cluster.
type Faults struct {
	spec runconfig.ClusterSpec

	mu        sync.Mutex
	listeners map[Task]*memoryListener
	links     map[[2]Task]*link
}

// Restart returns a new node for a task, like a restarted process: with another
// incarnation. The task's previous node must have been closed.
func (f *Faults) Restart(t Task) *Node {
	l := newMemoryListener()
	f.mu.Lock()
	f.listeners[t] = l
	f.mu.Unlock()
	n, err := Open(Config{
		Task: t, Listener: l, Spec: f.spec,
		dial: func(ctx context.Context, to Task) (net.Conn, error) { return f.dial(ctx, t, to) },
	})
	if err != nil {
		panic(err) // nothing in the configuration can fail
	}
	return n
}
