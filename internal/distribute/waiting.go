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

// asking is the key-value store as a task sees it that only asks: a leader that was
// replaced does not refuse it.
func (j *Job) asking() store {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.node.Task() == j.leader {
		return j.store
	}
	return keyvalue.NewClient(j.node, j.leader)
}

// absent describes tasks that are waited for; the ones that answer still have something to do.
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

// absentChief describes the chief, where it is known which task that is.
func (j *Job) absentChief(ctx context.Context, todo string) []waiting.Target {
	if len(j.workers) == 0 {
		return []waiting.Target{{Name: "the chief", Reason: todo}}
	}
	return j.absent(ctx, []cluster.Task{j.chiefTask()}, todo)
}

// absentForSession says for whom a worker waits that joins the session. Of servers
// that do not answer the node tells.
func (p *parameterServer) absentForSession(ctx context.Context) []waiting.Target {
	for _, s := range p.job.servers {
		if p.job.node.Probe(ctx, s) != "" {
			return nil
		}
	}
	return p.job.absentChief(ctx, "it has not made the variables yet")
}

// absentForStep says whose gradients a synchronous step waits for.
func (p *parameterServer) absentForStep(ctx context.Context, now ps.Progress) []waiting.Target {
	var tasks []cluster.Task
	for rank, task := range p.job.workers {
		if rank != p.job.rank && !slices.Contains(now.Came, rank) {
			tasks = append(tasks, task)
		}
	}
	return p.job.absent(ctx, tasks, "its gradients have not come")
}

// absentForRing says for whom a worker waits that forms a ring. Of a leader that
// does not answer the node tells.
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

// Sleep waits, or returns an error that wraps ErrInterrupted where ctx ends before.
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
