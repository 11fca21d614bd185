package collective

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/runconfig"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(kernels.WorkerFunction))
}

// patience is the time limit of a test's waits.
const patience = 30 * time.Second

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// site is a cluster of workers in this process.
type site struct {
	tasks     []cluster.Task
	nodes     []*cluster.Node
	endpoints []*Endpoint
	faults    *cluster.Faults
	store     *keyvalue.Store
}

func workers(n int) []cluster.Task {
	tasks := make([]cluster.Task, n)
	for i := range tasks {
		tasks[i] = cluster.Task{Job: "worker", Index: i}
	}
	return tasks
}

// newSite makes workers in memory, or over sockets.
func newSite(t testing.TB, n int, sockets bool) *site {
	t.Helper()
	s := &site{tasks: workers(n), store: keyvalue.NewStore(keyvalue.Options{})}
	if sockets {
		s.listen(t)
	} else {
		var nodes map[cluster.Task]*cluster.Node
		nodes, s.faults = cluster.NewLocal(s.tasks...)
		for _, task := range s.tasks {
			s.nodes = append(s.nodes, nodes[task])
		}
	}
	for _, node := range s.nodes {
		e, err := Attach(node)
		if err != nil {
			t.Fatal(err)
		}
		node.Serve()
		s.endpoints = append(s.endpoints, e)
	}
	t.Cleanup(func() {
		var all sync.WaitGroup
		for _, node := range s.nodes {
			all.Go(func() { node.Close() })
		}
		all.Wait()
	})
	return s
}

func (s *site) listen(t testing.TB) {
	var listeners []net.Listener
	var addresses []string
	for range s.tasks {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners, addresses = append(listeners, l), append(addresses, l.Addr().String())
	}
	for i, task := range s.tasks {
		n, err := cluster.Open(cluster.Config{Task: task, Listener: listeners[i], Log: slog.New(slog.DiscardHandler),
			Spec: runconfig.NewClusterSpec(map[string][]string{"worker": addresses})})
		if err != nil {
			t.Fatal(err)
		}
		s.nodes = append(s.nodes, n)
	}
}

// each calls f for all ranks at once and returns their errors.
func each(n int, f func(rank int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

// all is each for calls that must not fail.
func all(t interface {
	Helper()
	Fatalf(string, ...any)
}, n int, f func(rank int) error) {
	t.Helper()
	for rank, err := range each(n, f) {
		if err != nil {
			t.Fatalf("rank %d: %v", rank, err)
		}
	}
}

// form makes a group of all workers.
func (s *site) form(t testing.TB, generation int64, change func(*Config)) []*Group {
	t.Helper()
	groups := make([]*Group, len(s.tasks))
	all(t, len(groups), func(rank int) (err error) {
		c := Config{Endpoint: s.endpoints[rank], Store: s.store.As(cluster.Peer{Task: s.tasks[rank]}), Tasks: s.tasks, Rank: rank, Generation: generation}
		if change != nil {
			change(&c)
		}
		groups[rank], err = Form(within(t), c)
		return err
	})
	t.Cleanup(func() { closeAll(groups) })
	return groups
}

func closeAll(groups []*Group) {
	each(len(groups), func(rank int) error { return groups[rank].Close() })
}

func name(n int, sockets bool) string {
	return fmt.Sprintf("%d/%s", n, map[bool]string{false: "memory", true: "sockets"}[sockets])
}
