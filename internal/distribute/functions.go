package distribute

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/runconfig"
)

// FunctionWorkers returns the tasks that run functions for a coordinator: the workers, without the chief.
func (j *Job) FunctionWorkers() []remote.Worker {
	var out []remote.Worker
	for _, t := range tasks(j.config.ClusterSpec(), runconfig.Worker) {
		out = append(out, remote.NewClient(j.node, t))
	}
	return out
}

// RunFunctions runs functions by an executor until the coordinator, the job or ctx ends. It is called once. The end of
// the job is an *EndError. If no coordinator comes within the session creation timeout, the error wraps ErrPeerLost.
func (j *Job) RunFunctions(ctx context.Context, e remote.Executor) error {
	j.functions.Attach(e)
	defer j.functions.Detach()
	return j.unlessEnded(ctx, nil, j.awaitOver)
}

// awaitOver waits until there are no more functions to run.
func (j *Job) awaitOver(ctx context.Context) error {
	limit := j.sessionTimeout()
	for {
		n, changed := j.functions.Sessions()
		late := time.NewTimer(limit)
		if n > 0 {
			late.Stop()
		}
		select {
		case <-changed:
			late.Stop()
		case <-late.C:
			return lost(fmt.Sprintf("no coordinator has come for %v: waiting for %v", limit, j.firstWorker()), context.DeadlineExceeded)
		case <-j.functions.Over():
			return nil
		case <-j.node.Damaged():
			return damaged(fmt.Errorf("%v: %w", j.node.Task(), cluster.ErrDamaged))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
