package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/settings"
)

// form forms a ring with the other workers, until ctx ends.
func (m *multiWorker) form(ctx context.Context) error {
	if err := errors.Join(m.workers.leave(), m.ring.close()); err != nil {
		return err
	}
	poll := membersPoll
	if m.elastic != nil {
		poll = membersPoll / 5 // no process has to start
	}
	var refused error // why this worker could not take the chief's place
	for {
		err := m.formOnce(ctx)
		if err == nil || hopeless(err) {
			return err
		}
		if errors.Is(err, errTakeOver) {
			refused = err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), errors.Join(err, refused))
		}
		m.job.log.Warn("forming the ring of workers again", "cause", err)
		select {
		case <-time.After(poll):
		case <-ctx.Done():
		}
	}
}

// longestCall is the least time to wait for others in a step: one may evaluate or export
// between two steps. Whether it is alive is checked elsewhere.
const longestCall = 10 * time.Minute

// hopeless reports errors for which forming the ring again does not help.
func hopeless(err error) bool {
	for _, final := range []error{ErrDiffer, collective.ErrMismatch, keyvalue.ErrSuperseded, keyvalue.ErrInvalid, cluster.ErrRefused, cluster.ErrDamaged} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// ringName is the name of the ring of all workers on the key-value store.
const ringName = "workers"

// formOnce asks for the next generation and connects to its workers.
func (m *multiWorker) formOnce(ctx context.Context) error {
	if err := m.nextGeneration(ctx); err != nil {
		return err
	}
	c := collective.Config{Endpoint: m.job.links, Store: m.job.store, Tasks: m.members, Rank: slices.Index(m.members, m.job.workers[m.job.rank]),
		Generation: m.generation, BytesPerPack: m.config.BytesPerPack, CallTimeout: max(longestCall, m.job.sessionTimeout()),
		Describe: m.job.absent, Log: m.job.log}
	if m.elastic != nil {
		c.Timeout = formTime
	}
	var err error
	m.ring.group, err = collective.Form(ctx, c)
	m.ring.regroup = false
	if m.elastic != nil && err == nil {
		m.elastic.listen(m.ring.group)
	}
	return err
}

// formTime is how long to wait for workers of an elastic job that have just come, since one may be lost in the
// meantime.
const formTime = 15 * time.Second

// nextGeneration learns which workers make the next ring, and compares their settings.
func (m *multiWorker) nextGeneration(ctx context.Context) error {
	if m.elastic != nil {
		return m.nextElastic(ctx)
	}
	g := keyvalue.Gather{Name: ringName, Rank: m.job.rank, Size: len(m.job.workers), Value: m.settings}
	next, err := m.job.nextGeneration(ctx, g, m.generation)
	if err != nil {
		return err
	}
	m.generation = next.Number
	for rank, text := range next.Values {
		if err := compare(settled{m.job.workers[rank], text}, settled{m.job.workers[0], next.Values[0]}); err != nil {
			return err
		}
	}
	return nil
}

// nextElastic is nextGeneration for elastic workers. A worker with other settings than the
// job's ends, and the others continue without it.
func (m *multiWorker) nextElastic(ctx context.Context) error {
	e := m.elastic
	if err := m.succeed(ctx); err != nil {
		return err
	}
	next, all, err := m.askLeader(ctx, proposal{m.settings, m.generation, e.ranks})
	if err != nil {
		return err
	}
	if err := m.job.own.Set(ctx, leaderKey, []byte(m.job.leading().String())); err != nil {
		return err
	}
	// An earlier process of this worker may have said that it left.
	if _, err := m.job.store.Beat(ctx, keyvalue.Beat{Rank: m.job.rank}); err != nil {
		return err
	}
	m.generation, m.members = next.Number, nil
	first := settledBy(all)
	job := settled{m.job.workers[e.ranks[first]], all[first].Settings}
	if err := compare(settled{m.job.workers[m.job.rank], m.settings}, job); err != nil {
		return err
	}
	var ranks []int
	for i, rank := range e.ranks {
		if bytes.Equal(all[i].Settings, job.text) {
			ranks, m.members = append(ranks, rank), append(m.members, m.job.workers[rank])
		}
	}
	e.ranks = ranks
	if len(ranks) < e.config.Min {
		return fmt.Errorf("%d workers have the job's settings, expected %d or more", len(ranks), e.config.Min)
	}
	return nil
}

// settledBy returns the index of the worker whose settings are the job's: the first one of the latest generation, so
// that late workers do not decide.
func settledBy(all []proposal) int {
	latest := 0
	for i, p := range all {
		if p.Generation > all[latest].Generation {
			latest = i
		}
	}
	return latest
}

// settled is a worker and its settings.
type settled struct {
	task cluster.Task
	text []byte
}

// compare returns an error if a worker has other settings than the first one.
func compare(mine, first settled) error {
	if bytes.Equal(mine.text, first.text) {
		return nil
	}
	m, err := settings.Parse(mine.text)
	f, ferr := settings.Parse(first.text)
	if err := errors.Join(err, ferr); err != nil {
		return fmt.Errorf("%w: %v: %w", ErrDiffer, mine.task, err)
	}
	return &settings.DifferError{Mine: mine.task.String(), Theirs: first.task.String(), Differences: m.Differences(f)}
}

// nextGeneration asks the leader, which may have come back without its state.
func (j *Job) nextGeneration(ctx context.Context, g keyvalue.Gather, after int64) (keyvalue.Generation, error) {
	next, err := j.store.NextGeneration(ctx, g, after)
	if errors.Is(err, keyvalue.ErrLeaderReset) {
		j.follow(j.leading())
	}
	return next, err
}
