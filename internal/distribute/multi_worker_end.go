package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// Drain does nothing: all workers have made the same steps.
func (m *multiWorker) Drain(context.Context, bool) error { return nil }

// Finish keeps the workers together until the chief has saved the last state and all know
// that.
func (m *multiWorker) Finish(ctx context.Context, over bool) error {
	saved, left := fmt.Sprintf("finished/%d", m.generation), func(rank int) string { return fmt.Sprintf("left/%d/%d", m.generation, rank) }
	if m.job.chief() {
		if over {
			if err := m.job.post(ctx, End{Job: m.job.node.Job(), GlobalStep: m.ring.step, At: time.Now(), Sure: true}); err != nil {
				return err
			}
		}
		if err := m.job.store.Set(ctx, saved, nil); err != nil {
			return err
		}
		return m.awaitLeaving(ctx, over, left)
	}
	defer waiting.ReportEvery(m.job.log, func(ctx context.Context) []waiting.Target {
		return m.job.absentChief(ctx, "it has not saved the last state yet")
	})()
	for {
		_, err := m.job.store.Wait(ctx, saved)
		if harm := damaged(err); harm != nil {
			return harm
		}
		switch {
		case err == nil:
			if err := m.job.store.Set(ctx, left(m.job.rank), nil); err != nil {
				m.job.log.Warn("the chief was not told that this worker leaves", "error", err)
			}
			return nil
		case errors.Is(err, cluster.ErrPeerLost), errors.Is(err, keyvalue.ErrLeaderReset):
			return lost("the chief was lost before it saved the last state", err)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
}

// leaveTime is how long to wait for workers that have to end soon.
const leaveTime = 3 * time.Second

// awaitLeaving gives the others time to finish: if the chief were gone, they could not
// know that all went well.
func (m *multiWorker) awaitLeaving(ctx context.Context, over bool, left func(rank int) string) error {
	limit := leaveTime
	if over {
		limit = max(limit, m.job.rejoinTimeout())
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for wait := waiting.Begin(time.Now()); ; {
		staying, err := m.staying(ctx, left)
		if err != nil || len(staying) == 0 {
			return err
		}
		wait.Report(m.job.log, func() []waiting.Target { return m.job.absent(limited, staying, "it has not ended yet") })
		select {
		case <-time.After(membersPoll / 4):
		case <-limited.Done():
			m.job.log.Warn("workers did not end in time; training ends without them", "workers", staying)
			return ctx.Err()
		}
	}
}

// staying returns the workers that have not said that they leave.
func (m *multiWorker) staying(ctx context.Context, left func(rank int) string) ([]cluster.Task, error) {
	late, err := m.job.late(ctx)
	if err != nil {
		return nil, err
	}
	var out []cluster.Task
	for rank, task := range m.job.workers {
		if !slices.Contains(late, task) || !slices.Contains(m.members, task) {
			continue // it was restarted and knows of the end, or has left before
		}
		_, ok, err := m.job.store.Get(ctx, left(rank))
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, task)
		}
	}
	return out, nil
}
