package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
)

// leaderKey is the key, on a worker's own key-value store, of the task that it regards as the leader.
const leaderKey = "elastic/leader"

// follow makes this task regard another as the leader.
func (j *Job) follow(t cluster.Task) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leader = t
	if t == j.node.Task() {
		j.store = j.own
		return
	}
	j.store = keyvalue.NewClient(j.node, t)
}

// leading returns the leader.
func (j *Job) leading() cluster.Task {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.leader
}

// elastic reports whether another worker takes the chief's place if the chief is lost.
func (j *Job) elastic() bool {
	return j.config.TrainDistribute().Elastic.Enabled() && len(j.workers) > 1 && len(j.servers) == 0
}

// FindLeader asks the other workers of an elastic job which task leads it, and reports whether it is this one. A restarted
// chief may find that another worker has taken its place.
func (j *Job) FindLeader(ctx context.Context) bool {
	if t, ok := j.known(ctx); ok {
		j.follow(t)
	}
	return j.leads()
}

// askTime bounds how long one worker is asked.
const askTime = 2 * time.Second

// known returns a leader that another worker knows and that has not ended.
func (j *Job) known(ctx context.Context) (cluster.Task, bool) {
	told := make([]cluster.Task, len(j.workers))
	var asked sync.WaitGroup
	for i, w := range j.workers {
		if w != j.node.Task() && w != j.leading() { // the leader itself cannot know another one
			asked.Go(func() { told[i] = j.leaderOf(ctx, w) })
		}
	}
	asked.Wait()
	for _, t := range told {
		if t != (cluster.Task{}) && (t == j.node.Task() || !j.node.Gone(ctx, t)) {
			return t, true
		}
	}
	return cluster.Task{}, false
}

// leaderOf returns the leader that a worker knows, zero if it knows none or does not answer.
func (j *Job) leaderOf(ctx context.Context, w cluster.Task) cluster.Task {
	if j.node.Gone(ctx, w) {
		return cluster.Task{}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	name, ok, err := keyvalue.NewClient(j.node, w).Get(ctx, leaderKey)
	if err != nil || !ok {
		return cluster.Task{}
	}
	for _, t := range j.workers {
		if t.String() == string(name) {
			return t
		}
	}
	return cluster.Task{}
}

// errTakeOver is wrapped by errors of a worker that tries to become the chief.
var errTakeOver = errors.New("taking the chief's place")

// errLeaderGone is the reason to ask another leader.
var errLeaderGone = errors.New("the leader has ended")

// succeed finds the new leader after the former one has ended: the one that another worker
// follows, or the first of the last generation that has not ended. It may be this worker.
func (m *multiWorker) succeed(ctx context.Context) error {
	j := m.job
	if j.leads() || !m.leaderGone(ctx) {
		return nil
	}
	if t, ok := j.known(ctx); ok && t != j.node.Task() && t != j.leading() {
		m.elastic.hearing.forget(slices.Index(j.workers, t))
		j.follow(t)
		return nil
	}
	for _, rank := range m.elastic.ranks {
		if rank == j.rank {
			return m.takeOver()
		}
		if t := j.workers[rank]; t != j.leading() && j.node.Probe(ctx, t) == "" {
			m.elastic.hearing.forget(rank)
			j.follow(t)
			return nil
		}
	}
	return nil
}

// leaderGone reports whether the leader has ended, or has not answered for the peer timeout.
func (m *multiWorker) leaderGone(ctx context.Context) bool {
	return m.elastic.hearing.gone(ctx, slices.Index(m.job.workers, m.job.leading()))
}

// takeOver makes this worker the leader and the chief. It must get the chief's model_dir, which a live chief keeps locked.
func (m *multiWorker) takeOver() error {
	c := m.config
	if c.Successor == nil || c.Sessions == nil {
		return errors.New("this task cannot take the chief's place")
	}
	dir, err := c.Sessions.Session()
	if err != nil {
		return fmt.Errorf("%w: %w", errTakeOver, err)
	}
	if m.elastic.folder == "" || dir != m.elastic.folder {
		return fmt.Errorf("%w: the model_dir of this task is not the chief's: share it between all workers", errTakeOver)
	}
	if err := c.Successor.TakeOver(m.job.silence()); err != nil {
		return fmt.Errorf("%w: %w", errTakeOver, err)
	}
	m.job.log.Warn("this worker takes the chief's place", "chief", m.job.leading())
	m.job.follow(m.job.node.Task())
	return nil
}

// stillChief returns an error if this worker was the leader and another one has taken its place.
func (m *multiWorker) stillChief() error {
	if m.elastic == nil || m.config.Successor == nil || !m.job.leads() {
		return nil
	}
	return m.config.Successor.Tend()
}

// watchLeader ends a request to the leader when there is another leader to ask.
func (m *multiWorker) watchLeader(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(membersPoll / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !m.leaderGone(ctx) {
			continue
		}
		if m.generation > 0 {
			end(errLeaderGone)
			return
		}
		if t, ok := m.job.known(ctx); ok && t != m.job.leading() {
			end(errLeaderGone)
			return
		}
	}
}
