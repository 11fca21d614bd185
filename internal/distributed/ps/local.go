package ps

import (
	"errors"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// Local is the in-memory twin for tests: servers and clients within one
// process, on a network without sockets.
type Local struct {
	Tasks   []cluster.Task
	Servers []*Server
	Faults  *cluster.Faults

	config  ServerConfig
	nodes   []*cluster.Node
	workers map[int]*cluster.Node
}

// NewLocal starts that many servers, and a network for that many workers.
func NewLocal(servers, workers int, c ServerConfig) (*Local, error) {
	l := &Local{config: c, workers: map[int]*cluster.Node{}}
	var all []cluster.Task
	for i := range servers {
		l.Tasks = append(l.Tasks, cluster.Task{Job: "ps", Index: i})
	}
	for i := range workers {
		all = append(all, cluster.Task{Job: "worker", Index: i})
	}
	nodes, faults := cluster.NewLocal(append(all, l.Tasks...)...)
	l.Faults = faults
	for i := range workers {
		l.workers[i] = nodes[all[i]]
		l.workers[i].Serve()
	}
	for _, t := range l.Tasks {
		l.nodes, l.Servers = append(l.nodes, nil), append(l.Servers, nil)
		if err := l.start(t, nodes[t]); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// start runs a server on a node.
func (l *Local) start(t cluster.Task, n *cluster.Node) error {
	c := l.config
	c.Client, c.Servers, c.Incarnation = n, l.Tasks, n.Incarnation()
	l.Servers[t.Index], l.nodes[t.Index] = NewServer(c), n
	if err := n.Register(l.Servers[t.Index].Service()); err != nil {
		return err
	}
	n.Serve()
	return nil
}

// Client returns a client of a worker.
func (l *Local) Client(rank int, c ClientConfig) *Client {
	c.Client, c.Servers, c.Rank = l.workers[rank], l.Tasks, rank
	return NewClient(c)
}

// Stop ends a server as if its process had been killed.
func (l *Local) Stop(server int) error {
	return errors.Join(l.Servers[server].Close(), l.nodes[server].Close())
}

// Restart restarts a stopped server, empty.
func (l *Local) Restart(server int) error {
	t := l.Tasks[server]
	return l.start(t, l.Faults.Restart(t))
}

// Close closes all of them.
func (l *Local) Close() error {
	var errs []error
	for _, n := range l.workers {
		errs = append(errs, n.Close())
	}
	for i, n := range l.nodes {
		if n != nil {
			errs = append(errs, l.Servers[i].Close(), n.Close())
		}
	}
	return errors.Join(errs...)
}
