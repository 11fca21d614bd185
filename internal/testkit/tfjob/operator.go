package tfjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// Operator runs one job. Create it with [Start] and end it with [Operator.Close].
type Operator struct {
	job   Job
	ports *freeport.Reservation // nil: the job sets its own addresses

	mu      sync.Mutex
	pods    []*pod
	status  Status
	changed chan struct{} // closed at the next change
	closed  bool
	running sync.WaitGroup // goroutines that wait for processes
}

// ErrNotRunning is the error of a signal to a replica without a process.
var ErrNotRunning = errors.New("the replica has no running process")

// Start creates a job and its pods.
func Start(job Job) (*Operator, error) {
	if err := job.complete(); err != nil {
		return nil, fmt.Errorf("tfjob: %w", err)
	}
	for typ, r := range job.Replicas {
		if _, err := exec.LookPath(r.Command[0]); err != nil {
			return nil, fmt.Errorf("tfjob: %s: %w", typ, err)
		}
	}
	o := &Operator{job: job, changed: make(chan struct{}), status: Status{Replicas: map[string]Counts{}}}
	if err := o.address(); err != nil {
		return nil, fmt.Errorf("tfjob: %w", err)
	}
	o.job.Output = &lockedWriter{w: job.Output}
	for _, t := range o.job.tasks() {
		o.pods = append(o.pods, &pod{Task: t, phase: absent})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status.set(Created, fmt.Sprintf("TFJob %s is created.", job.Name))
	o.status.record(Status{})
	o.reconcile()
	return o, nil
}

// address gives free ports to the tasks of a job without addresses.
func (o *Operator) address() error {
	if o.job.Addresses != nil {
		return nil
	}
	tasks := o.job.tasks()
	ports, err := freeport.Reserve(len(tasks))
	if err != nil {
		return err
	}
	o.ports, o.job.Addresses = ports, map[string][]string{}
	for i, t := range tasks {
		o.job.Addresses[t.Type] = append(o.job.Addresses[t.Type], ports.Address(i))
	}
	return nil
}

// TFConfig returns the TF_CONFIG of a replica; empty: not set.
func (o *Operator) TFConfig(typ string, index int) string {
	return o.job.tfConfig(replica.Task{Type: typ, Index: index})
}

// Status returns the state of the job.
func (o *Operator) Status() Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current()
}

// current is the status with its pods; mu is held.
func (o *Operator) current() Status {
	s := o.status.clone()
	for _, p := range o.pods {
		s.Pods = append(s.Pods, p.state())
	}
	return s
}

// WaitFor waits until the job has a wanted status, and returns it.
func (o *Operator) WaitFor(ctx context.Context, wanted func(Status) bool) (Status, error) {
	for {
		o.mu.Lock()
		s, changed := o.current(), o.changed
		o.mu.Unlock()
		if wanted(s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, fmt.Errorf("wait for the job %s, which is in %+v: %w", o.job.Name, s, context.Cause(ctx))
		}
	}
}

// Wait waits until the job has succeeded or failed.
func (o *Operator) Wait(ctx context.Context) (Status, error) { return o.WaitFor(ctx, Status.Finished) }

// Signal sends a signal to a replica's process group.
func (o *Operator) Signal(typ string, index int, s syscall.Signal) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.find(typ, index)
	if p == nil || p.process == nil {
		return fmt.Errorf("signal %v to %s-%d: %w", s, typ, index, ErrNotRunning)
	}
	return p.process.Signal(s)
}

// Delete deletes a pod, as an eviction from a node does: its process gets SIGTERM
// and, after the grace period, SIGKILL. The operator counts a running pod that is
// being deleted as failed.
func (o *Operator) Delete(typ string, index int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.find(typ, index)
	if p == nil || p.process == nil {
		return fmt.Errorf("delete %s-%d: %w", typ, index, ErrNotRunning)
	}
	o.delete(p)
	o.reconcile()
	return nil
}

func (o *Operator) find(typ string, index int) *pod {
	for _, p := range o.pods {
		if p.Type == typ && p.Index == index {
			return p
		}
	}
	return nil
}

// Close kills all running processes and waits for their end.
func (o *Operator) Close() error {
	o.mu.Lock()
	o.closed = true
	for _, p := range o.pods {
		if p.process != nil {
			_ = p.process.Signal(syscall.SIGKILL) // it may just have ended
		}
	}
	o.mu.Unlock()
	o.running.Wait()
	if o.ports == nil {
		return nil
	}
	return o.ports.Close()
}

// notify wakes waiters after a change; mu is held.
func (o *Operator) notify() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// lockedWriter is a writer for the output of several processes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p in one piece.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
