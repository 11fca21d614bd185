package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/server"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// Cluster is a cluster of servers in this process. It is safe for concurrent use.
type Cluster struct {
	spec    runconfig.ClusterSpec
	options options
	ports   *freeport.Reservation

	mu      sync.Mutex
	running map[task]*running
}

type task struct {
	job   string
	index int
}

func (t task) String() string { return fmt.Sprintf("/job:%s/task:%d", t.job, t.index) }

// running is a server and the function that ends it.
type running struct {
	stop  context.CancelFunc
	ended chan error
}

// Option adjusts a cluster.
type Option func(*options)

type options struct {
	log   *slog.Logger
	paths []string
}

// Log sets where servers log; by default they do not log.
func Log(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// AllowPaths sets the folders in which graphs may read and write files.
func AllowPaths(folders ...string) Option {
	return func(o *options) { o.paths = append(o.paths, folders...) }
}

// Start starts a cluster with the given number of tasks of each job, such as {"worker": 2, "ps": 1}.
func Start(jobs map[string]int, opts ...Option) (*Cluster, error) {
	c := &Cluster{options: options{log: slog.New(slog.DiscardHandler)}, running: map[task]*running{}}
	for _, f := range opts {
		f(&c.options)
	}
	var all []task
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		if jobs[job] < 1 {
			return nil, fmt.Errorf("in-process cluster: %d tasks of job %q: expected at least 1", jobs[job], job)
		}
		for i := range jobs[job] {
			all = append(all, task{job, i})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("in-process cluster: expected at least one job")
	}
	ports, err := freeport.Reserve(len(all))
	if err != nil {
		return nil, fmt.Errorf("in-process cluster: %w", err)
	}
	c.ports = ports
	addresses := map[string][]string{}
	for i, t := range all {
		addresses[t.job] = append(addresses[t.job], ports.Address(i))
	}
	c.spec = runconfig.NewClusterSpec(addresses)
	for _, t := range all {
		if err := c.StartTask(t.job, t.index); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Target returns the target by which sessions are opened at a task: "grpc://127.0.0.1:port". It is "", which Dial refuses,
// for a task that the cluster does not have.
func (c *Cluster) Target(job string, index int) string {
	address, ok := c.spec.Address(job, index)
	if !ok {
		return ""
	}
	return "grpc://" + address
}

// StartTask restarts a task that StopTask has ended, without variables and sessions.
func (c *Cluster) StartTask(job string, index int) error {
	t := task{job, index}
	address, ok := c.spec.Address(job, index)
	if !ok {
		return fmt.Errorf("in-process cluster: no task %v", t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[t] != nil {
		return fmt.Errorf("in-process cluster: task %v runs: stop it first", t)
	}
	s, err := server.New(server.Config{Cluster: c.spec, Job: job, Task: index, Log: c.options.log, AllowPaths: c.options.paths, Drain: time.Nanosecond})
	if err != nil {
		return fmt.Errorf("in-process cluster: task %v: %w", t, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(fmt.Errorf("in-process cluster: task %v: %w", t, err), s.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop, make(chan error, 1)}
	go func() {
		err := s.Serve(ctx, l)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		r.ended <- errors.Join(err, s.Close())
	}()
	c.running[t] = r
	return nil
}

// StopTask ends a task like a kill: its steps fail and its variables are lost.
func (c *Cluster) StopTask(job string, index int) error {
	t := task{job, index}
	c.mu.Lock()
	r := c.running[t]
	delete(c.running, t)
	c.mu.Unlock()
	if r == nil {
		return fmt.Errorf("in-process cluster: task %v does not run", t)
	}
	r.stop()
	return <-r.ended
}

// Close ends all tasks.
func (c *Cluster) Close() error {
	c.mu.Lock()
	all := c.running
	c.running = map[task]*running{}
	c.mu.Unlock()
	var errs []error
	for _, r := range all {
		r.stop()
	}
	for t, r := range all {
		if err := <-r.ended; err != nil {
			errs = append(errs, fmt.Errorf("task %v: %w", t, err))
		}
	}
	return errors.Join(append(errs, c.ports.Close())...)
}
