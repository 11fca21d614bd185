package distribute

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// asking returns the key-value store for requests only: a replaced leader does not
// refuse them.
func (j *Job) asking() store {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.node.Task() == j.leader {
		return j.store
	}
	return keyvalue.NewClient(j.node, j.leader)
}

// absent describes the tasks that others wait for. If a task answers, it still has todo to do.
func (j *Job) absent(ctx context.Context, tasks []cluster.Task, todo string) []waiting.Target {
	out := make([]waiting.Target, len(tasks))
	var asked sync.WaitGroup
	for i, t := range tasks {
		asked.Go(func() {
			out[i] = waiting.Target{Name: j.node.Place(t), Reason: j.node.Probe(ctx, t)}
			if out[i].Reason == "" {
				out[i].Reason = todo
			}
		})
	}
	asked.Wait()
	return out
}

// absentChief describes the chief, if it is known which task that is.
func (j *Job) absentChief(ctx context.Context, todo string) []waiting.Target {
	if len(j.workers) == 0 {
		return []waiting.Target{{Name: "the chief", Reason: todo}}
	}
	return j.absent(ctx, []cluster.Task{j.chiefTask()}, todo)
}

// absentForSession returns the tasks for which a worker waits to join the session. The
// node reports servers that do not answer.
func (p *parameterServer) absentForSession(ctx context.Context) []waiting.Target {
	for _, s := range p.job.servers {
		if p.job.node.Probe(ctx, s) != "" {
			return nil
		}
	}
	return p.job.absentChief(ctx, "it has not made the variables yet")
}

// absentForStep returns the tasks for whose gradients a synchronous step waits.
func (p *parameterServer) absentForStep(ctx context.Context, now ps.Progress) []waiting.Target {
	var tasks []cluster.Task
	for rank, task := range p.job.workers {
		if rank != p.job.rank && !slices.Contains(now.Came, rank) {
			tasks = append(tasks, task)
		}
	}
	return p.job.absent(ctx, tasks, "its gradients have not come")
}

// absentForRing returns the tasks for which a worker waits to form a ring. The node
// reports a leader that does not answer.
func (m *multiWorker) absentForRing(ctx context.Context) []waiting.Target {
	ranks, err := m.job.asking().Missing(ctx, ringName)
	if err != nil {
		return nil
	}
	var tasks []cluster.Task
	for _, r := range ranks {
		if r < len(m.job.workers) {
			tasks = append(tasks, m.job.workers[r])
		}
	}
	return m.job.absent(ctx, tasks, "it does not take part yet")
}

// Sleep waits for d. If ctx ends first, it returns an error that wraps ErrInterrupted.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
}
