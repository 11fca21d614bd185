package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// partialIdle is how long a partial run waits for its next call.
const partialIdle = time.Hour

// errIdle ends a partial run whose master has left it.
var errIdle = status.Errorf(codes.Aborted, "the partial run had no call for %v", partialIdle)

// partial is a run that calls feed and fetch in parts. It continues between the calls.
type partial struct {
	cancel context.CancelCauseFunc
	ended  context.Context // canceled by the end of the run, whose error is the cause
	err    error           // of the run; valid after ended
	idle   *time.Timer
}

// errEnded is the cause if a run has ended without an error.
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

// partialCall is a call of a partial run.
type partialCall struct {
	visit
	at   dataflow.Step
	sent []letter
}

// runPart answers a call of a partial run. The first call starts the run.
func (w *Worker) runPart(ctx context.Context, in *rpcs.RunGraphRequest, c partialCall) (*rpcs.RunGraphResponse, error) {
	table := c.step.table
	for _, l := range c.sent {
		if err := table.Send(l.key, l.item); err != nil {
			return nil, err
		}
	}
	r, err := w.partial(c.id, c.graph, c.at, func(err error) { table.Abort(StatusOf(err)) })
	if err != nil {
		return nil, err
	}
	return r.answer(ctx, in, func(ended context.Context) (*rpcs.RunGraphResponse, error) {
		return fetch(ended, table, in.GetRecvKey())
	})
}

// fetch takes values of a partial run for its caller. Values that are missing when the run has ended will not arrive.
func fetch(ended context.Context, table *rendezvous.Table, keys []string) (*rpcs.RunGraphResponse, error) {
	out := &rpcs.RunGraphResponse{}
	for _, key := range keys {
		item, err := table.Recv(ended, key)
		if errors.Is(err, errEnded) {
			return nil, status.Errorf(codes.InvalidArgument, "the graph sent nothing as %q", key)
		}
		if err != nil {
			return nil, err
		}
		t, err := named(key, item)
		if err != nil {
			return nil, err
		}
		out.Recv = append(out.Recv, t)
	}
	return out, nil
}

// answer waits for the fetches of a call. The last call waits for the end of the run.
func (r *partial) answer(ctx context.Context, in *rpcs.RunGraphRequest, fetch func(context.Context) (*rpcs.RunGraphResponse, error)) (*rpcs.RunGraphResponse, error) {
	r.idle.Reset(partialIdle)
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	defer stop()
	if in.GetIsLastPartialRun() {
		<-r.ended.Done() // even if ctx has ended
		if r.err != nil {
			return nil, r.err
		}
	}
	return fetch(r.ended)
}
