package inprocess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// Program is the program of a task. It must return when its context ends.
type Program func(ctx context.Context, rc runconfig.RunConfig) error

// Cluster is a cluster whose tasks are goroutines. It is safe for concurrent use.
type Cluster struct {
	program Program
	ports   *freeport.Reservation
	tasks   []*task

	mu       sync.Mutex
	changed  chan struct{} // closed when a task ends
	failures []*TaskError  // failures not yet returned
	closed   bool
}

// New returns a cluster, and picks a loopback port for each task. It starts no task. The
// options apply to each task's RunConfig.
func New(tasks Tasks, program Program, opts ...runconfig.Option) (*Cluster, error) {
	if program == nil {
		return nil, errors.New("in-process cluster: expected a program")
	}
	all, err := tasks.list()
	if err != nil {
		return nil, fmt.Errorf("in-process cluster: %w", err)
	}
	c := &Cluster{program: program, changed: make(chan struct{})}
	if c.ports, err = freeport.Reserve(len(all)); err != nil {
		return nil, fmt.Errorf("in-process cluster: %w", err)
	}
	if err := c.configure(all, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("in-process cluster: %w", err), c.ports.Close())
	}
	return c, nil
}

// configure sets the address and the RunConfig of each task. The evaluator has no address.
func (c *Cluster) configure(all []Task, opts []runconfig.Option) error {
	jobs := map[string][]string{}
	for i, t := range all {
		if t.Job != runconfig.Evaluator {
			jobs[t.Job] = append(jobs[t.Job], c.ports.Address(i))
		}
	}
	spec := runconfig.NewClusterSpec(jobs)
	for _, t := range all {
		rc, err := runconfig.FromCluster(spec, t.Job, t.Index, opts...)
		if err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
		address, _ := spec.Address(t.Job, t.Index)
		c.tasks = append(c.tasks, &task{Task: t, config: rc, address: address})
	}
	return nil
}

// Run runs a program in all tasks of a new cluster. It returns when all tasks except the
// parameter servers have ended. After the first error of a task it ends the others and
// returns that error, a *TaskError. The end of ctx ends all tasks.
func Run(ctx context.Context, tasks Tasks, program Program, opts ...runconfig.Option) error {
	c, err := New(tasks, program, opts...)
	if err != nil {
		return err
	}
	if err = c.Start(ctx); err == nil {
		err = c.Wait(ctx)
	}
	if err == nil && ctx.Err() != nil { // ctx ended the programs before Wait saw its end
		err = context.Cause(ctx)
	}
	return errors.Join(err, c.Close())
}

// Tasks returns the tasks of the given jobs; without jobs, all.
func (c *Cluster) Tasks(jobs ...string) []Task {
	var out []Task
	for _, t := range c.tasks {
		if len(jobs) == 0 || slices.Contains(jobs, t.Job) {
			out = append(out, t.Task)
		}
	}
	return out
}

// RunConfig returns the RunConfig of a task, with which its program is called.
func (c *Cluster) RunConfig(t Task) (runconfig.RunConfig, error) {
	found, err := c.find(t)
	if err != nil {
		return runconfig.RunConfig{}, err
	}
	return found.config, nil
}

// find returns a task. It needs no lock: the cluster's tasks do not change.
func (c *Cluster) find(t Task) (*task, error) {
	i := slices.IndexFunc(c.tasks, func(x *task) bool { return x.Task == t })
	if i < 0 {
		return nil, fmt.Errorf("in-process cluster: no task %v: expected one of %v", t, c.Tasks())
	}
	return c.tasks[i], nil
}

// findAll returns the given tasks; without any, all of the cluster.
func (c *Cluster) findAll(tasks []Task) ([]*task, error) {
	if len(tasks) == 0 {
		return c.tasks, nil
	}
	var out []*task
	for _, t := range tasks {
		x, err := c.find(t)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
