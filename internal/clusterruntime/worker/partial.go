package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// partialIdle is how long a partial run waits for its next call.
const partialIdle = time.Hour

// errIdle ends a partial run whose master has left it.
var errIdle = status.Errorf(codes.Aborted, "the partial run had no call for %v", partialIdle)

// partial is a run that calls feed and fetch part by part. It goes on between the calls.
type partial struct {
	cancel context.CancelCauseFunc
	ended  context.Context // canceled by the end of the run, whose error is the cause
	err    error           // of the run; valid after ended
	idle   *time.Timer
}

// errEnded is the cause where a run has ended without an error.
var errEnded = errors.New("the run has ended")

// partial returns the partial run of a step. The first call starts it.
func (w *Worker) partial(id int64, p *registered, at dataflow.Step, fail func(error)) (*partial, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.steps[id]
	if s == nil {
		return nil, errCleaned
	}
	if s.partial != nil {
		return s.partial, nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	ended, end := context.WithCancelCause(context.Background())
	r := &partial{cancel: cancel, ended: ended, idle: time.AfterFunc(partialIdle, func() { cancel(errIdle) })}
	s.partial = r
	release := w.keep(p)
	go func() {
		defer release()
		defer cancel(nil)
		if r.err = p.program.Run(ctx, at); r.err != nil {
			fail(r.err)
		}
		r.idle.Stop()
		end(cmp.Or(r.err, errEnded))
	}()
	return r, nil
}

// answer waits for what a call fetches. The last call waits for the end of the run.
func (r *partial) answer(ctx context.Context, in *rpcs.RunGraphRequest, fetch func(context.Context) (*rpcs.RunGraphResponse, error)) (*rpcs.RunGraphResponse, error) {
	r.idle.Reset(partialIdle)
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	defer stop()
	if in.GetIsLastPartialRun() {
		<-r.ended.Done() // after ctx, too
		if r.err != nil {
			return nil, r.err
		}
	}
	return fetch(r.ended)
}
